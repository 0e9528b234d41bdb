"""Access logs of reverse proxies, and the tokens that these call with."""

import datetime as dt
import logging
from collections.abc import Iterator
from typing import Any, Final

from events.streams.batches import ingest_events
from events.streams.catalogue import PROXY
from events.streams.faults import BatchRefused
from meshmgmt.accounts.tokens import is_well_formed, new_token, note_use, token_hash
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.protocol import proxy_pb2
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.control.services.reporting import plain
from meshmgmt.core import clock
from meshmgmt.core.addresses import host_of
from meshmgmt.core.errors import FieldError
from meshmgmt.core.resources import Resource, Values, Write
from meshmgmt.core.textrules import name_errors, range_errors

PREFIX: Final = "nbx_"
MAX_DAYS: Final = 3650
BAD_TOKEN: Final = "this token lets no proxy in"  # noqa: S105 - a sentence
MAX_NUMBER: Final = 2**31 - 1
MAX_BYTES: Final = 2**53 - 1
MAX_PATH: Final = 8192
MAX_METADATA: Final = 64
MAX_METADATA_TEXT: Final = 1024
FIRST_FAILURE: Final = 400
MAX_STATUS: Final = 999
_LOG: Final = logging.getLogger(__name__)


class ProxyTokens(Resource[ProxyToken]):
    """Tokens, never changed; a new one is good for `expires_in` days, 0: for ever."""

    model = ProxyToken
    kind = "proxy token"
    defaults = {"expires_in": 0}

    def errors(self, write: Write[ProxyToken]) -> Iterator[FieldError]:
        name, days = write.values["name"], write.values["expires_in"]
        yield from name_errors("name", name, what="name of a proxy token")
        yield from range_errors("expires_in", days, 0, MAX_DAYS, what="life in days")

    def fill(self, instance: ProxyToken, values: Values) -> None:
        super().fill(instance, values)
        instance.plain = new_token(PREFIX)
        instance.hash = token_hash(instance.plain)
        life = dt.timedelta(days=values["expires_in"])
        instance.expires_at = instance.created_at + life if life else None


proxy_tokens: Final = ProxyTokens()


def check_proxy_token(authorization: str) -> str:
    """Return the id of the token in `Bearer <token>`. Raises Refused."""
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() != "bearer" or not is_well_formed(text, PREFIX):
        raise Refused(Code.UNAUTHENTICATED, BAD_TOKEN)
    token = ProxyToken.objects.filter(hash=token_hash(text)).first()
    if token is None:
        raise Refused(Code.UNAUTHENTICATED, BAD_TOKEN)
    if token.expires_at is not None and token.expires_at <= clock.now():
        raise Refused(Code.UNAUTHENTICATED, BAD_TOKEN, reason="the token has expired")
    note_use(token)
    return token.pk


def store_proxy_log(log: proxy_pb2.AccessLog) -> None:
    """Store an entry, unless it is there already. Raises Refused."""
    try:
        ingest_events(PROXY, [proxy_entry(log)])
    except BatchRefused as refusal:
        _LOG.info("an access log entry is not kept: %s", refusal.message)
        raise Refused(Code.INVALID_ARGUMENT, refusal.message) from refusal


def proxy_entry(log: proxy_pb2.AccessLog) -> dict[str, Any]:
    """Return an entry as log shippers send it to the ingest endpoint.

    Texts and numbers that are too long or too high are cut: proxies send an entry once.
    """
    mechanism = plain(log.auth_mechanism)
    protocol = plain(log.protocol).lower()
    return {
        "id": plain(log.log_id, 128),
        "service_id": plain(log.service_id, 128),
        "timestamp": _moment(log),
        "method": plain(log.method, 32),
        "host": plain(log.host),
        "path": plain(log.path, MAX_PATH),
        "duration_ms": min(max(log.duration_ms, 0), MAX_NUMBER),
        "status_code": min(max(log.response_code, 0), MAX_STATUS),
        "source_ip": host_of(log.source_ip),
        "auth_method_used": mechanism,
        # Other mechanisms do not say who somebody is.
        "user_id": plain(log.user_id, 128) if mechanism == "oidc" else "",
        "reason": _reason(log, protocol),
        "bytes_upload": min(max(log.bytes_upload, 0), MAX_BYTES),
        "bytes_download": min(max(log.bytes_download, 0), MAX_BYTES),
        "protocol": "tcp" if protocol == "tls" else protocol,
        "metadata": {
            plain(key): plain(value, MAX_METADATA_TEXT)
            # Sorted: sent again, the same ones are kept.
            for key, value in sorted(log.metadata.items())[:MAX_METADATA]
        },
    }


def _reason(log: proxy_pb2.AccessLog, protocol: str) -> str:
    """Return why a request over HTTP failed, "" when it did not."""
    if protocol not in {"", "http"}:
        return ""
    if not log.auth_success:
        return "Authentication failed"
    return "Request failed" if log.response_code >= FIRST_FAILURE else ""


def _moment(log: proxy_pb2.AccessLog) -> str | None:
    if not log.HasField("timestamp"):
        return None
    try:
        return clock.rfc3339(log.timestamp.ToDatetime(dt.UTC))
    except (OverflowError, ValueError):
        return None
