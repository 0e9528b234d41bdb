"""Receivers behind TLS: believed with a certificate for their name, not otherwise."""

import datetime as dt
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from meshmgmt.core import clock
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders import NotDelivered, addresses, lines, webhook
from meshmgmt.delivery.senders.webhook import give_secret

pytestmark = pytest.mark.django_db


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate of this machine with its key, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "receiver")])
    here = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    day, now = dt.timedelta(days=1), dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([here]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "receiver.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(
        made.public_bytes(pem)
        + key.private_bytes(
            pem,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


@contextmanager
def one_talk(certificate: Path, *, answer: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Read one connection: to the end, or until a body's end and then answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    contents: list[bytes] = []

    def serve(server: socket.socket) -> None:
        try:
            plain, _ = server.accept()
            with context.wrap_socket(plain, server_side=True) as connection:
                while part := connection.recv(65536):
                    contents.append(part)
                    if answer and b"]}" in part:
                        connection.sendall(answer)
                        return
        except (OSError, ssl.SSLError):
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


def test_syslog_over_tls_is_read_to_the_end(
    inside: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with one_talk(certificate, answer=b"") as (port, contents):
        lines.to_syslog(_syslog(port), "audit.events", [_event()])
    assert b'{"id":"1"}' in b"".join(contents)


def _served(certificate: Path, plain: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context.wrap_socket(plain, server_side=True)


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
    inside: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch, tls: bool
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(addresses, "ANSWER_SECONDS", 0.5)
    done = threading.Event()

    def end(plain: socket.socket) -> None:
        connection = _served(certificate, plain) if tls else plain
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
    inside: Path,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    tls: bool,
    first: str,
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    read = []

    def take(plain: socket.socket) -> None:
        with _served(certificate, plain) if tls else plain as connection:
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
    inside: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(certificate)
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


def test_a_webhook_over_tls_arrives(
    inside: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    good = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with one_talk(certificate, answer=good) as (port, contents):
        to = Subscription(
            name="w",
            stream="audit",
            target={"type": "webhook", "url": f"https://127.0.0.1:{port}/x"},
        )
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
