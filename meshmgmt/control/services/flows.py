"""Traffic that peers report, by tokens.

The payload of a token names a peer and a moment, the signature proves that we wrote it.
Clients send `authorization: Bearer SIGNATURE.PAYLOAD` and look into neither.
"""

import base64
import binascii
import hashlib
import hmac
import ipaddress
import logging
import uuid
from collections.abc import Collection, Sequence
from datetime import UTC
from typing import Any, Final

from django.conf import settings

from events.streams.batches import ingest_events
from events.streams.catalogue import TRAFFIC
from events.streams.faults import BatchRefused
from meshmgmt.control.protocol import flow_pb2
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import clock
from meshmgmt.core.queries import known_ids
from meshmgmt.inventory.models import NetworkResource, Peer
from observability.metrics import instruments

LIFETIME_SECONDS: Final = 24 * 3600
"""Of a token."""
BAD_TOKEN: Final = "this token lets nobody report traffic"  # noqa: S105 - a sentence
MAX_COUNTER: Final = 2**53 - 1
"""Numbers that JSON readers keep exactly; more is no number of bytes in a window."""
UUID_BYTES: Final = 16
MAX_PORT: Final = 65535
MAX_ID: Final = 128
_COUNTERS: Final = (
    *("rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "num_of_starts"),
    *("num_of_ends", "num_of_drops"),
)
_LOG: Final = logging.getLogger(__name__)
_REFUSED: Final = instruments.counter("mesh.flows.refused.total")


def make_token(peer_id: str, expires: int, secret: str) -> tuple[str, str]:
    """Return payload and signature; `expires` is in Unix seconds."""
    payload = _encoded(f"{peer_id},{expires}".encode("ascii"))
    return payload, _signature(payload, secret)


def peer_of_token(authorization: str, now: float, secret: str) -> str | None:
    """Return the peer that the header names, None unless it is right and lasts."""
    scheme, _, token = authorization.partition(" ")
    signature, _, payload = token.partition(".")
    if scheme.lower() != "bearer" or not token.isascii():
        return None
    if not hmac.compare_digest(signature, _signature(payload, secret)):
        return None
    try:
        text = base64.urlsafe_b64decode(f"{payload}{'=' * (-len(payload) % 4)}")
    except binascii.Error:
        return None
    peer_id, _, expires = text.decode("ascii").partition(",")
    return peer_id if now < int(expires) else None


def _signature(payload: str, secret: str) -> str:
    key = f"flow token {secret}".encode()
    return _encoded(hmac.digest(key, payload.encode("ascii"), hashlib.sha256))


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")


def flow_token(peer_id: str) -> tuple[str, str]:
    """Return payload and signature of a token for FlowConfig."""
    expires = int(clock.now().timestamp()) + LIFETIME_SECONDS
    return make_token(peer_id, expires, settings.SECRET_KEY)


def check_flow_token(authorization: str) -> str:
    """Return the peer that `Bearer <signature>.<payload>` names. Raises Refused."""
    now = clock.now().timestamp()
    peer_id = peer_of_token(authorization, now, settings.SECRET_KEY)
    if peer_id is None:
        raise Refused(Code.UNAUTHENTICATED, BAD_TOKEN)
    _check_exists(peer_id)
    return peer_id


def _check_exists(peer_id: str) -> None:
    if not Peer.objects.filter(pk=peer_id).exists():
        raise Refused(Code.UNAUTHENTICATED, BAD_TOKEN, reason="the peer was deleted")


def store_flows(peer_id: str, events: Sequence[flow_pb2.FlowEvent]) -> list[bytes]:
    """Store what a peer reports; return the event ids to acknowledge.

    Committed on return. Faulty events are logged, counted and acknowledged too: sent
    again they would be no better. Raises Refused for a peer that does not exist.
    """
    _check_exists(peer_id)
    resources = _known_resources(events)
    batch: dict[str, dict[str, Any]] = {}
    for event in events:
        try:
            made = traffic_event(peer_id, event, resources)
        except ValueError as error:
            _refuse(peer_id, str(error))
        else:
            batch[made["id"]] = made  # sent twice: the same event
    _store(peer_id, list(batch.values()))
    return [event.event_id for event in events]


def _store(peer_id: str, batch: list[dict[str, Any]]) -> None:
    """Store the events; those that are refused are left out."""
    if not batch:
        return
    try:
        ingest_events(TRAFFIC, batch)
    except BatchRefused as refusal:
        if len(batch) == 1:
            _refuse(peer_id, refusal.message)
            return
        # Which ones are refused is found out one by one.
        for event in batch:
            _store(peer_id, [event])


def _refuse(peer_id: str, why: str) -> None:
    _REFUSED.inc()
    _LOG.info("a traffic event is not kept: %s", why, extra={"peer_id": peer_id})


def _known_resources(events: Sequence[flow_pb2.FlowEvent]) -> set[str]:
    """Return the ids of network resources among the ends of the events."""
    flows = [event.flow_fields for event in events]
    ends = [flow.source_resource_id for flow in flows]
    ends += [flow.dest_resource_id for flow in flows]
    return known_ids(NetworkResource, map(_resource_id, ends))


def traffic_event(
    peer_id: str, event: flow_pb2.FlowEvent, resources: Collection[str]
) -> dict[str, Any]:
    """Return an event as reporters send it to the ingest endpoint.

    The reporter is the peer of the stream, whatever the event says. Raises ValueError
    for ids, addresses, ports and times that are none.
    """
    fields, ports = event.flow_fields, event.flow_fields.port_info
    window_end = _moment(event, "window_end")
    kind = fields.type if fields.type in flow_pb2.Type.values() else 0
    direction = fields.direction
    known = direction in flow_pb2.Direction.values()
    made: dict[str, Any] = {
        "id": _uuid(event.event_id),
        "reporter_id": peer_id,
        "flow_id": _uuid(fields.flow_id) if fields.flow_id else "",
        "source": _end(
            fields.source_ip, ports.source_port, fields.source_resource_id, resources
        ),
        "destination": _end(
            fields.dest_ip, ports.dest_port, fields.dest_resource_id, resources
        ),
        "policy": {"id": _text(fields.rule_id)},
        "icmp": {
            "type": min(fields.icmp_info.icmp_type, 255),
            "code": min(fields.icmp_info.icmp_code, 255),
        },
        "protocol": fields.protocol,
        "direction": flow_pb2.Direction.Name(direction if known else 0),
        "window_start": _moment(event, "window_start"),
        "window_end": window_end,
    }
    for name in _COUNTERS:
        made[name] = min(getattr(fields, name), MAX_COUNTER)
    if kind or window_end is None:
        moment = _moment(event, "timestamp")
        made["events"] = [{"type": flow_pb2.Type.Name(kind), "timestamp": moment}]
    return made


def _end(
    ip: bytes, port: int, resource: bytes, known: Collection[str]
) -> dict[str, str]:
    address = ipaddress.ip_address(ip)
    shown = f"[{address}]" if address.version == 6 and port else str(address)  # noqa: PLR2004
    if port > MAX_PORT:
        raise ValueError(f"{port} is not a port")
    end = {"address": f"{shown}:{port}" if port else shown}
    if (identifier := _resource_id(resource)) in known:
        end["id"] = identifier
    return end


def _resource_id(raw: bytes) -> str:
    """Return the id in what names a resource or a route on one of its routers."""
    return _text(raw).partition(":")[0]


def _uuid(raw: bytes) -> str:
    if len(raw) != UUID_BYTES:
        raise ValueError("an id is not a UUID of 16 bytes")
    return str(uuid.UUID(bytes=raw))


def _text(raw: bytes) -> str:
    """Return an id of ours that came as bytes, "" for what cannot be one."""
    return raw.decode("ascii", "replace") if len(raw) <= MAX_ID else ""


def _moment(event: flow_pb2.FlowEvent, name: str) -> str | None:
    if not event.HasField(name):
        return None
    try:
        return clock.rfc3339(getattr(event, name).ToDatetime(UTC))
    except OverflowError as error:
        raise ValueError(f"{name} is not a time") from error
