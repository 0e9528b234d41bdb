"""Relay health: real handshakes, real certificates, three seconds of cache."""

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from django.conf import settings
from django.test import Client
from websockets.utils import accept_key

from meshmgmt.core import runtime
from observability.health import relay as relay_module
from observability.health.relay import Probe, RelayHealth, check, probe, relay_health
from tests.observability.listeners import (
    Relay,
    answering,
    hanging,
    refusing,
    relay,
    silent_after_tls,
    tls,
)
from tests.servers import Server

UPGRADED = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Accept: %b\r\n\r\n"
)


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """A certificate authority."""
    return trustme.CA()


@pytest.fixture
def _trusted(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Make the authority one that this host trusts."""
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))


@pytest.fixture
def plain() -> Iterator[Relay]:
    """A healthy listener without TLS."""
    with relay() as found:
        yield found


def test_a_plain_listener_is_reached_by_a_handshake(plain: Relay):
    assert probe(plain.url) == Probe("ws", plain.url, True, None)
    assert plain.handshakes == ["/relay"]


def test_the_path_of_the_listener_is_used_when_given(plain: Relay):
    assert probe(f"{plain.url}/other").answers
    assert plain.handshakes == ["/other"]


@pytest.mark.usefixtures("_trusted")
def test_a_good_certificate_is_valid(authority: trustme.CA):
    with relay(tls(authority, "127.0.0.1")) as secure:
        assert probe(secure.url) == Probe("wss", secure.url, True, True)


@pytest.mark.usefixtures("_trusted")
@pytest.mark.parametrize(
    ("name", "expired", "foreign", "reason"),
    [
        ("127.0.0.1", True, False, "expired"),
        ("relay.corp.internal", False, False, "mismatch"),
        ("127.0.0.1", False, True, "self-signed|unable to get local issuer"),
    ],
)
def test_a_bad_certificate_is_invalid_and_the_listener_still_answers(
    authority: trustme.CA, name: str, expired: bool, foreign: bool, reason: str
):
    issuer = trustme.CA() if foreign else authority
    with relay(tls(issuer, name, expired=expired)) as secure:
        found = probe(secure.url)
    assert (found.answers, found.certificate_valid) == (True, False)
    assert re.search(reason, found.problem)
    body = RelayHealth(time.time(), (found,)).body()
    assert body["status"] == "healthy"
    assert body["certificate_valid"] is False


@pytest.mark.usefixtures("_trusted")
def test_tls_asked_of_a_plain_listener_fails(plain: Relay):
    found = probe(f"wss://127.0.0.1:{plain.port}")
    assert (found.answers, found.certificate_valid) == (False, False)


def test_a_refusing_listener_is_down():
    found = probe(refusing().url)
    assert not found.answers
    assert "refused" in found.problem


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "HTTP 200"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "valid HTTP response"),
        (b"HTTP/1.1 101 Switching Proto", "valid HTTP response"),
        (b"", "valid HTTP response"),
        (UPGRADED % b"bm90IHRoZSBhbnN3ZXI=", "Sec-WebSocket-Accept"),
    ],
)
def test_a_server_that_speaks_no_websocket_is_down(answer: bytes, problem: str):
    with answering(lambda _: answer) as other:
        found = probe(other.url)
    assert not found.answers
    assert problem in found.problem


def test_redirects_are_not_followed(plain: Relay):
    answer = f"HTTP/1.1 302 Found\r\nLocation: {plain.url}\r\n\r\n".encode()
    with answering(lambda _: answer) as other:
        found = probe(other.url)
    assert not found.answers
    assert "HTTP 302" in found.problem
    assert plain.handshakes == []


def test_a_listener_that_closes_at_once_answers():
    def upgrade(request: bytes) -> bytes:
        [key] = re.findall(r"Sec-WebSocket-Key: (\S+)", request.decode())
        close = b"\x88\x02\x03\xe9"  # 1001, going away
        return UPGRADED % accept_key(key).encode() + close

    with answering(upgrade) as other:
        assert probe(other.url) == Probe("ws", other.url, True, None)


@pytest.mark.usefixtures("_trusted")
def test_session_tickets_never_cost_the_request(authority: trustme.CA):
    """Tickets come in while the request goes out; with two of them it is a rare case."""
    context = tls(authority, "127.0.0.1")
    context.num_tickets = 100
    with relay(context) as secure:
        for _ in range(50):
            assert probe(secure.url) == Probe("wss", secure.url, True, True)
    assert len(secure.handshakes) == 50


@pytest.mark.usefixtures("_trusted")
def test_a_listener_silent_after_tls_is_given_up(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(relay_module, "PROBE_SECONDS", 0.5)
    # Leaving the inner block hangs up, so that a probe without end ends, too.
    with (
        ThreadPoolExecutor(1) as pool,
        silent_after_tls(tls(authority, "127.0.0.1")) as silent,
    ):
        found = pool.submit(probe, silent.url).result(timeout=5)
    assert (found.answers, found.certificate_valid) == (False, False)
    assert "timed out" in found.problem


def test_a_hanging_listener_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(relay_module, "PROBE_SECONDS", 0.5)
    with hanging() as silent:
        begun = time.monotonic()
        found = probe(silent.url)
        assert time.monotonic() - begun < 10  # generous: a busy machine
    assert not found.answers


def test_the_relay_is_healthy_only_when_all_listeners_answer(plain: Relay):
    good = check([plain.url])
    assert good.body() == {
        "status": "healthy",
        "timestamp": good.body()["timestamp"],
        "listeners": ["ws"],
        "certificate_valid": False,
    }
    bad = check([plain.url, refusing().url])
    assert bad.body()["status"] == "unhealthy"
    assert bad.body()["listeners"] == []


def test_the_answer_is_kept_for_three_seconds(plain: Relay, tmp_path: Path):
    first = relay_health([plain.url], tmp_path)
    assert relay_health([plain.url], tmp_path) == first
    assert len(plain.handshakes) == 1
    # Not an old one, not one from the future, not one about other listeners.
    for shift in (-3.1, 60):
        document = runtime.read_json(tmp_path / relay_module.FILE)
        assert document is not None
        document["checked"] = time.time() + shift
        runtime.write_json(tmp_path / relay_module.FILE, document)
        assert relay_health([plain.url], tmp_path).checked > first.checked
    assert len(plain.handshakes) == 3
    relay_health([plain.url, plain.url], tmp_path)
    assert len(plain.handshakes) == 5


def test_a_full_runtime_directory_does_not_hide_the_relay(plain: Relay):
    assert relay_health([plain.url], Path("/proc/nowhere")).healthy


@pytest.mark.sqlite
@pytest.mark.slow
def test_fifty_clients_cause_one_handshake_in_three_seconds(plain: Relay, folder: Path):
    with Server(folder, "--workers", "2", SVC_RELAY_LISTENERS=plain.url) as server:
        with ThreadPoolExecutor(50) as pool:
            replies = list(pool.map(lambda _: server.get("/health"), range(50)))
        assert {reply.status for reply in replies} == {200}
        assert len({reply.json["timestamp"] for reply in replies}) == 1
        assert len(plain.handshakes) == 1
        probes = 'mesh_relay_probes_total{listener="ws",result="ok"}'
        assert server.value(probes) == 1
        assert replies[0].headers["content-type"].startswith("application/json")


@pytest.mark.django_db
@pytest.mark.parametrize(("listens", "status"), [(True, 503), (False, 200)])
def test_health_over_http_is_503_when_a_listener_is_down_and_200_without_any(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listens: bool, status: int
):
    listeners = (refusing().url,) if listens else ()
    config = replace(settings.SVC, relay_listeners=listeners, runtime_dir=tmp_path)
    monkeypatch.setattr(settings, "SVC", config)
    reply = Client().get("/health")
    assert reply.status_code == status
    said = reply.json()
    assert said.pop("timestamp")
    assert said == {"status": "unhealthy", "listeners": [], "certificate_valid": False}
    assert Client().get("/livez").status_code == 200
