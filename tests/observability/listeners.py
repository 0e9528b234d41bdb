"""Relay listeners for tests: real WebSocket servers, some of them broken."""

import datetime as dt
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import trustme
from cryptography import x509
from websockets.http11 import Request
from websockets.sync.server import ServerConnection, serve


@dataclass
class Relay:
    """A listener's address, and how many handshakes it finished."""

    port: int
    scheme: str
    host: str = "127.0.0.1"
    handshakes: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """What `SVC_RELAY_LISTENERS` names."""
        return f"{self.scheme}://{self.host}:{self.port}"


@contextmanager
def relay(
    context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Iterator[Relay]:
    """Serve WebSockets, over TLS when given a context."""

    def count(_: ServerConnection, request: Request) -> None:
        found.handshakes.append(request.path)  # before the client has its answer

    def handle(connection: ServerConnection) -> None:
        for _ in connection:
            pass

    with serve(handle, "127.0.0.1", 0, ssl=context, process_request=count) as server:
        port = server.socket.getsockname()[1]
        found = Relay(port, "wss" if context else "ws", host)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def hanging() -> Iterator[Relay]:
    """Accept connections and never say a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        yield Relay(listener.getsockname()[1], "ws")


def refusing() -> Relay:
    """Return an address that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Relay(listener.getsockname()[1], "ws")


@contextmanager
def answering(answer: Callable[[bytes], bytes]) -> Iterator[Relay]:
    """Answer the head of each request with `answer` of it, then hang up."""

    def serve_one(connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request and (data := connection.recv(4096)):
            request += data
        found.handshakes.append(request.split(b" ", 2)[1].decode())
        connection.sendall(answer(request))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        found = Relay(listener.getsockname()[1], "ws")
        with _accepting(listener, serve_one):
            yield found


@contextmanager
def silent_after_tls(context: ssl.SSLContext) -> Iterator[Relay]:
    """Finish the handshake of TLS, then never say a word."""
    held: list[ssl.SSLSocket] = []

    def hold(connection: socket.socket) -> None:
        held.append(context.wrap_socket(connection, server_side=True))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        try:
            with _accepting(listener, hold):
                yield Relay(listener.getsockname()[1], "wss")
        finally:
            for connection in held:
                connection.close()


@contextmanager
def _accepting(
    listener: socket.socket, serve_one: Callable[[socket.socket], None]
) -> Iterator[None]:
    """Give each connection to `serve_one`, one after the other, in a thread."""
    listener.settimeout(0.2)
    done = threading.Event()

    def run() -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(10)
                serve_one(connection)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def tls(authority: trustme.CA, name: str, *, expired: bool = False) -> ssl.SSLContext:
    """Return a server's TLS context with a certificate for `name`."""
    begin, end = (dt.datetime(year, 1, 1, tzinfo=dt.UTC) for year in (2019, 2020))
    past: Any = {"not_before": begin, "not_after": end}
    certificate = authority.issue_cert(name, **(past if expired else {}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    parsed = x509.load_pem_x509_certificate(certificate.cert_chain_pems[0].bytes())
    assert (parsed.not_valid_after_utc.year < 2021) is expired
    return context
