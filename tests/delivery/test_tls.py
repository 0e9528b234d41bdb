"""Receivers behind TLS: believed with a certificate for their name, not otherwise."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import trustme

from meshmgmt.core import clock
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders import NotDelivered, addresses, lines, webhook
from meshmgmt.delivery.senders.webhook import give_secret

pytestmark = pytest.mark.django_db


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of this machine with its key, and that of who signed it."""
    authority = trustme.CA()
    made = authority.issue_cert("127.0.0.1")
    parts = (made.private_key_pem, *made.cert_chain_pems, authority.cert_pem)
    path = tmp_path / "receiver.pem"
    path.write_bytes(b"".join(part.bytes() for part in parts))
    return path


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, believed by this host."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return certificate


def served(certificate: Path, plain: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(plain, server_side=True)


@contextmanager
def one_talk(certificate: Path, *, answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Read one connection: to the end, or until a body's end and then answer."""
    contents: list[bytes] = []

    def serve(server: socket.socket) -> None:
        with suppress(OSError), served(certificate, server.accept()[0]) as connection:
            while part := connection.recv(65536):
                contents.append(part)
                if answer and b"]}" in part:
                    connection.sendall(answer)
                    return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=[server], daemon=True)
        thread.start()
        yield server.getsockname()[1], contents
        thread.join(3)


def _event() -> Event:
    return Event("1", 1, clock.now(), "group.add", b'{"id":"1"}')


MANY = [_event()] * 2000


def _syslog(port: int, *, tls: bool = True) -> Subscription:
    target = {"type": "syslog", "host": "127.0.0.1", "port": port, "tls": tls}
    return Subscription(name="s", stream="audit", target=target)


def test_syslog_over_tls_is_read_to_the_end(inside: Path, trusted: Path):
    with one_talk(trusted, answer=b"") as (port, contents):
        lines.to_syslog(_syslog(port), "audit.events", [_event()])
    assert b'{"id":"1"}' in b"".join(contents)


@contextmanager
def _small(serve: Callable[[socket.socket], None]) -> Iterator[int]:
    """Serve one connection that takes a few kilobytes in at a time; give the port."""
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        ThreadPoolExecutor(1) as pool,
    ):
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        served = pool.submit(lambda: serve(server.accept()[0]))
        yield server.getsockname()[1]
        served.result(20)


@pytest.mark.parametrize("tls", [False, True])
def test_a_syslog_receiver_that_ends_before_it_read_all_has_received_nothing(
    inside: Path, trusted: Path, monkeypatch: pytest.MonkeyPatch, tls: bool
):
    monkeypatch.setattr(addresses, "ANSWER_SECONDS", 0.5)
    done = threading.Event()

    def end(plain: socket.socket) -> None:
        connection = served(trusted, plain) if tls else plain
        # As the system does for a process that was killed and had no more to read yet.
        socket.socket.shutdown(connection, socket.SHUT_WR)
        done.wait(10)
        connection.close()

    with _small(end) as port:
        try:
            with pytest.raises(NotDelivered, match="before it had read all"):
                lines.to_syslog(_syslog(port, tls=tls), "audit.events", MANY)
        finally:
            done.set()


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("first", ["a greeting", "its end"])
def test_a_syslog_receiver_may_say_something_or_end_its_side_first(
    inside: Path, trusted: Path, tls: bool, first: str
):
    read = []

    def take(plain: socket.socket) -> None:
        with served(trusted, plain) if tls else plain as connection:
            if first == "its end":
                socket.socket.shutdown(connection, socket.SHUT_WR)
            else:
                connection.sendall(b"welcome\r\n" * 300)
            while part := connection.recv(16_384):
                read.append(part)

    with _small(take) as port:
        lines.to_syslog(_syslog(port, tls=tls), "audit.events", MANY)
    assert b"".join(read).count(b'{"id":"1"}') == len(MANY)


@pytest.mark.parametrize("number", [1, 60])
def test_a_syslog_receiver_that_refuses_us_after_the_handshake_has_received_nothing(
    inside: Path, trusted: Path, number: int
):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted)
    context.load_verify_locations(trusted)
    context.verify_mode = ssl.CERT_REQUIRED  # of clients; we have none

    def refuse(plain: socket.socket) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        with plain, suppress(ssl.SSLError):
            while True:
                try:
                    tls.do_handshake()
                except ssl.SSLWantReadError:
                    plain.sendall(outgoing.read())
                    incoming.write(plain.recv(65_536))
                finally:
                    plain.sendall(outgoing.read())

    with (
        _small(refuse) as port,
        pytest.raises(OSError, match=r"(?i)certificate|reset|pipe"),
    ):
        lines.to_syslog(_syslog(port), "audit.events", MANY[:number])


def test_a_webhook_over_tls_arrives(inside: Path, trusted: Path):
    good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with one_talk(trusted, answer=good) as (port, contents):
        target = {"type": "webhook", "url": f"https://127.0.0.1:{port}/x"}
        to = Subscription(name="w", stream="audit", target=target)
        give_secret(to)
        webhook.send(to, "audit.events", [_event()])
    assert b"POST /x HTTP/1.1" in b"".join(contents)


def test_a_receiver_that_nobody_vouches_for_gets_nothing(
    inside: Path, certificate: Path
):
    with (
        one_talk(certificate, answer=b"") as (port, contents),
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        lines.to_syslog(_syslog(port), "audit.events", [_event()])
    assert contents == []
