"""Health of the relay: a real handshake with each of its listeners (seed, GET /health).

The result is used for 3 seconds by all processes of the host, and only one of them
checks at a time: the others wait for its result.
"""

import logging
import socket
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.exceptions import WebSocketException
from websockets.frames import CloseCode
from websockets.http11 import USER_AGENT
from websockets.protocol import State
from websockets.uri import WebSocketURI, parse_uri

from meshmgmt.core import runtime
from meshmgmt.core.clock import seconds_left
from meshmgmt.core.locks import locked
from observability.metrics import instruments

_LOG: Final = logging.getLogger(__name__)
CACHE_SECONDS: Final = 3.0
PROBE_SECONDS: Final = 4.0
CLOSE_SECONDS: Final = 0.2
PATH: Final = "/relay"
FILE: Final = "relay-health.json"
_CHUNK: Final = 65_536
_PROBES: Final = instruments.counter("mesh.relay.probes.total")


@dataclass(frozen=True, slots=True)
class Probe:
    """What one listener answered; `certificate_valid` is None without TLS."""

    name: str
    url: str
    answers: bool
    certificate_valid: bool | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RelayHealth:
    """The health of the relay at `checked`, in seconds since the epoch."""

    checked: float
    probes: tuple[Probe, ...]

    @property
    def healthy(self) -> bool:
        """Whether there are listeners and all of them answer."""
        return bool(self.probes) and all(probe.answers for probe in self.probes)

    def body(self) -> dict[str, Any]:
        """Return the seed's relay health object."""
        tls = [p for p in self.probes if p.certificate_valid is not None]
        moment = datetime.fromtimestamp(self.checked, UTC)
        return {
            "status": "healthy" if self.healthy else "unhealthy",
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
            "listeners": (
                list(dict.fromkeys(p.name for p in self.probes)) if self.healthy else []
            ),
            "certificate_valid": bool(tls) and all(p.certificate_valid for p in tls),
        }


def relay_health(
    listeners: Sequence[str], runtime_dir: Path, *, seconds: float = CACHE_SECONDS
) -> RelayHealth:
    """Return the relay's health, at most `seconds` old."""
    found = _cached(listeners, runtime_dir, seconds)
    if found is not None:
        return found
    with ExitStack() as stack:
        try:
            runtime_dir.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(runtime_dir / f"{FILE}.lock"))
        except OSError as error:
            _LOG.warning("relay health cannot be shared between processes: %s", error)
            return check(listeners)
        found = _cached(listeners, runtime_dir, seconds)
        # Whoever had the lock before may have left a result.
        return found or _check_and_keep(listeners, runtime_dir)


def _check_and_keep(listeners: Sequence[str], runtime_dir: Path) -> RelayHealth:
    health = check(listeners)
    document = {
        "listeners": list(listeners),
        "checked": health.checked,
        "probes": [asdict(probe) for probe in health.probes],
    }
    try:
        runtime.write_json(runtime_dir / FILE, document)
    except OSError as error:
        _LOG.warning("relay health cannot be shared between processes: %s", error)
    return health


def _cached(
    listeners: Sequence[str], runtime_dir: Path, seconds: float
) -> RelayHealth | None:
    document = runtime.read_json(runtime_dir / FILE)
    if document is None or document["listeners"] != list(listeners):
        return None
    # A time to come means that the clock was set back: check again.
    if not 0 <= time.time() - document["checked"] <= seconds:
        return None
    probes = tuple(Probe(**probe) for probe in document["probes"])
    return RelayHealth(document["checked"], probes)


def check(listeners: Sequence[str]) -> RelayHealth:
    """Check all listeners side by side, now."""
    if not listeners:
        return RelayHealth(time.time(), ())
    with ThreadPoolExecutor(len(listeners), thread_name_prefix="relay") as pool:
        probes = tuple(pool.map(probe, listeners))
    for result in probes:
        outcome = "ok" if result.answers else "failed"
        _PROBES.labels(result.name, outcome).inc()
        if result.problem:
            facts = {"listener": result.url, "problem": result.problem}
            _LOG.warning("relay listener check failed", extra=facts)
    return RelayHealth(time.time(), probes)


def probe(url: str) -> Probe:
    """Check one listener with a WebSocket handshake.

    A listener whose certificate does not verify is tried once more without looking at
    it: whether it answers and whether its certificate is good are two questions.
    """
    name = urlsplit(url).scheme
    if name == "ws":
        problem = _handshake(url, None)
        return Probe(name, url, not problem, None, problem)
    try:
        problem = _handshake(url, ssl.create_default_context())
    except ssl.SSLCertVerificationError as error:
        # Nothing is sent over it but a handshake.
        unverified = ssl.create_default_context()
        unverified.check_hostname = False
        unverified.verify_mode = ssl.CERT_NONE
        answer = _handshake(url, unverified)
        reason = f"certificate: {error.verify_message}"
        problem = f"{reason}; {answer}" if answer else reason
        return Probe(name, url, not answer, certificate_valid=False, problem=problem)
    return Probe(name, url, not problem, not problem, problem)


def _handshake(url: str, context: ssl.SSLContext | None) -> str:
    """Return why the handshake failed, "" when it succeeded.

    Raises ssl.SSLCertVerificationError when the certificate is the reason.
    """
    target = url if urlsplit(url).path.strip("/") else url.rstrip("/") + PATH
    try:
        shake_hands(target, context, PROBE_SECONDS)
    except ssl.SSLCertVerificationError:
        raise
    except (OSError, WebSocketException, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def shake_hands(url: str, context: ssl.SSLContext | None, seconds: float) -> None:
    """Connect to `url`, finish the opening handshake and part, within `seconds`.

    By one thread (RFC 6455, Section 4). The threaded client of `websockets` does not do: it
    reads in one thread while another one writes, which OpenSSL does not allow on one
    connection (openssl-threads(7)). When a session ticket of TLS 1.3 came in while the
    request went out, the request was lost in silence, and a reader that has begun with a
    ticket cannot be woken before the other side sends more.

    The context is that of a `wss` URL. Redirects are not followed. Raises OSError (which
    includes TimeoutError and errors of TLS), WebSocketException, or ValueError for a URL
    that cannot be used.
    """
    uri = parse_uri(url)
    deadline = time.monotonic() + seconds
    with socket.create_connection((uri.host, uri.port), timeout=seconds) as plain:
        if context is None:
            _upgrade(plain, uri, deadline)
            return
        plain.settimeout(seconds_left(deadline))
        with context.wrap_socket(plain, server_hostname=uri.host) as secure:
            _upgrade(secure, uri, deadline)


def _upgrade(connection: socket.socket, uri: WebSocketURI, deadline: float) -> None:
    protocol = ClientProtocol(uri)
    request = protocol.connect()
    request.headers["User-Agent"] = USER_AGENT
    protocol.send_request(request)
    connection.settimeout(seconds_left(deadline))
    connection.sendall(b"".join(protocol.data_to_send()))
    while protocol.state is State.CONNECTING and protocol.handshake_exc is None:
        connection.settimeout(seconds_left(deadline))
        if data := connection.recv(_CHUNK):
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
    if protocol.handshake_exc is not None:
        raise protocol.handshake_exc
    _part(connection, protocol)


def _part(connection: socket.socket, protocol: ClientProtocol) -> None:
    """Close in order (RFC 6455, Section 7), but wait only little for the other side."""
    if protocol.state is State.OPEN:
        protocol.send_close(CloseCode.NORMAL_CLOSURE)
    deadline = time.monotonic() + CLOSE_SECONDS
    # The listener has answered: how it parts says nothing about its health.
    with suppress(OSError):
        connection.settimeout(seconds_left(deadline))
        connection.sendall(b"".join(protocol.data_to_send()))
        while connection.recv(_CHUNK):
            connection.settimeout(seconds_left(deadline))
