"""What peers are sent: answers to logins, and what streams get, made in the thread of the
maps and there alone.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from groups.models import GroupPeer
from meshmgmt.accounts.models import Account
from meshmgmt.control.checks import Unsendable, check_config, check_login
from meshmgmt.control.encoding.message import Encoder
from meshmgmt.control.maps import MapStore, Refresh
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server import netbirdconfig
from meshmgmt.control.server.envelope import Envelopes
from meshmgmt.control.server.streams import Stream
from meshmgmt.control.services import flows
from meshmgmt.control.services.logins import Session
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import clock
from meshmgmt.core.errors import NotFound
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.env import Config
from meshmgmt.explain.mapsize import DURATION, observe_objects
from meshmgmt.mesh import Mesh
from meshmgmt.meshstate.loading import load_among
from observability.debug import capture
from observability.metrics import instruments

_LOG: Final = logging.getLogger(__name__)
_UNSENDABLE: Final = instruments.counter("mesh.peers.unsendable.total")

_LARGE: Final = 300_000
"""Bytes below which no map holds more objects than the service warns about."""

Make = Callable[[Stream], bytes | None]


@dataclass(frozen=True, slots=True)
class FlowRule:
    """Which peers report their traffic, by the account's settings and groups.

    `members` None: every peer. `counters`: bytes and packets too.
    """

    enabled: bool
    counters: bool = False
    members: frozenset[str] | None = None

    def told(self, peer_id: str) -> tuple[bool, bool]:
        """Return whether a peer reports, and with counters."""
        reports = self.enabled and (self.members is None or peer_id in self.members)
        return reports, reports and self.counters


def read_flow_rule() -> FlowRule:
    """Read the rule; one query, another one where groups limit it."""
    row = Account.objects.values_list(
        "network_traffic_logs_enabled",
        "network_traffic_packet_counter_enabled",
        "network_traffic_logs_groups",
    ).first()
    if row is None or not row[0]:
        return FlowRule(enabled=False)
    members = None
    if row[2]:
        links = GroupPeer.objects.filter(group__in=row[2]).order_by()
        members = frozenset(links.values_list("peer_id", flat=True))
    return FlowRule(enabled=True, counters=row[1], members=members)


class Messages:
    """Messages from the map store and the configuration, checked and sealed."""

    def __init__(self, config: Config, envelopes: Envelopes) -> None:
        self.config = config
        self.envelopes = envelopes
        self.store = MapStore()
        self.flow_rule = FlowRule(enabled=False)
        self._samples = True

    def refresh(self) -> Refresh:
        return self.store.refresh(beside=self._follow_flow_rule)

    def _follow_flow_rule(self) -> None:
        if self.config.flow_interval is not None:
            self.flow_rule = read_flow_rule()

    def sealed(
        self, wanted: Sequence[tuple[Stream, Make]]
    ) -> list[pb.EncryptedMessage | Exception | None]:
        """Return what is to be sent to each stream, None for nothing, or what went wrong.

        Refused: there is no map for a stream that begins.
        """
        self._samples = True
        found: list[pb.EncryptedMessage | Exception | None] = []
        for stream, make in wanted:
            try:
                found.append(self._sealed(stream, make))
            except Exception as error:  # of this stream alone; its caller raises it
                found.append(error)
        return found

    def _sealed(self, stream: Stream, make: Make) -> pb.EncryptedMessage | None:
        try:
            message = make(stream)
        except Unsendable as error:
            tell_not_sent(stream.peer_id, error)
            return None
        except NotFound as error:
            # `==`, for each look at a method makes another object.
            if make == self.first:
                raise not_ready() from error
            return None  # deleted just now: the stream is about to end
        if message is None:
            return None
        capture.keep(
            "sync",
            stream.peer_id,
            lambda: MessageToDict(pb.SyncResponse.FromString(message)),
        )
        return self.envelopes.seal(stream.box, message)

    def first(self, stream: Stream) -> bytes:
        """Everything: configuration and map."""
        message = self._measured(self.store.message, stream.peer_id)
        assert message is not None
        return self.configuration(stream) + message

    def changed(self, stream: Stream) -> bytes | None:
        """The map, unless it is the one that the peer has."""
        return self._measured(self.store.changed, stream.peer_id)

    def closing(self, stream: Stream) -> bytes:
        """The map of somebody who sees nobody."""
        del stream
        return self.store.closing_message()

    def configuration(self, stream: Stream) -> bytes:
        """The configuration alone, with new credentials."""
        push = self.store.mesh.snapshot.settings.metrics_push
        config = netbirdconfig.netbird_config(self.config, metrics_push=push)
        if self.config.flow_interval is not None:
            self._add_flow(config, stream)
        if self.config.turn_urls or self.config.relay_urls or config.flow.enabled:
            # Well before they end, also for a peer that is slow to read.
            stream.config_due = time.monotonic() + netbirdconfig.LIFETIME * 0.75
        check_config(config)
        return pb.SyncResponse(netbirdConfig=config).SerializeToString()

    def _measured(
        self, make: Callable[[str], bytes | None], peer_id: str
    ) -> bytes | None:
        """Measure how long a map takes, and of one in each batch how much it holds."""
        begun = time.perf_counter()
        message = make(peer_id)
        DURATION.observe((time.perf_counter() - begun) * 1000)
        if message is not None and (self._samples or len(message) > _LARGE):
            self._samples = False
            found = pb.SyncResponse.FromString(message).NetworkMap
            count = len(found.remotePeers) + len(found.offlinePeers) + len(found.Routes)
            count += len(found.FirewallRules) + len(found.routesFirewallRules)
            observe_objects(peer_id, count)
        return message

    def _add_flow(self, config: pb.NetbirdConfig, stream: Stream) -> None:
        """Say whether the peer reports traffic; one that never did is told nothing."""
        told = self.flow_rule.told(stream.peer_id)
        if any(told) or stream.flow is not None:
            payload, signature = flows.flow_token(stream.peer_id)
            config.flow.CopyFrom(
                netbirdconfig.flow_config(
                    self.config, payload, signature, enabled=told[0], counters=told[1]
                )
            )
        stream.flow = told


def not_ready() -> Refused:
    """Return what a peer gets whose map cannot be told now."""
    return Refused(Code.UNAVAILABLE, "the peer's map is not ready: try again")


def tell_not_sent(peer_id: str, error: Unsendable) -> None:
    """Log and count a message that was kept from a peer."""
    _UNSENDABLE.inc()
    _LOG.error(
        "a message to a peer was not sent, it would break the agent: %s",
        error,
        extra={"peer_id": peer_id},
    )


def login_responses(
    config: Config, peers: Sequence[Session]
) -> list[pb.LoginResponse | Exception]:
    """Return what each of the peers that logged in is told, or Refused.

    Themselves and the services; the map comes with Sync. So a login waits for no map of the
    account, whose making takes the longer the more peers there are, and enrolments have
    none made for each. As many queries for many as for one: after a restart everybody comes
    back at once.
    """
    try:
        with read_snapshot():
            snapshot = load_among({peer.peer_id for peer in peers})
    except NotFound:
        if len(peers) == 1:
            return [not_ready()]  # deleted just now
        return [found for peer in peers for found in login_responses(config, [peer])]
    mesh = Mesh(snapshot, clock.now().timestamp())
    encoder = Encoder()
    encoder.use(mesh)
    return [_response(config, mesh, encoder, peer) for peer in peers]


def _response(
    config: Config, mesh: Mesh, encoder: Encoder, peer: Session
) -> pb.LoginResponse | Exception:
    found = mesh.network_map(peer.peer_id)
    # None is the zero Timestamp on the wire: the session has no end.
    expires = Timestamp()
    if peer.session_expires_at is not None:
        expires.FromDatetime(peer.session_expires_at)
    checks = [pb.Checks(Files=paths) for paths in found.files]
    push = mesh.snapshot.settings.metrics_push
    try:
        response = pb.LoginResponse(
            netbirdConfig=netbirdconfig.netbird_config(config, metrics_push=push),
            peerConfig=encoder.peer_config(found),
            Checks=checks,
            sessionExpiresAt=expires,
        )
        check_login(response)
    except Unsendable as error:
        tell_not_sent(peer.peer_id, error)
        return not_ready()
    return response
