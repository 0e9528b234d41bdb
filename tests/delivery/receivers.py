"""Real receivers of events, in threads of the test; they fail, hang, lie and restart."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def answer(status: int, **headers: str) -> Behaviour:
    """Return the behaviour of a receiver that answers with a status."""

    def behave(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return behave


def lie(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
    """Say 200, announce more, and hang up."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nok")


def hang(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
    """Say nothing until whoever asked has gone."""
    handler.connection.recv(1)


def hang_up(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
    """Close the connection without a word."""
    handler.connection.shutdown(socket.SHUT_RDWR)


GOOD = answer(204)


@dataclass
class Receiver:
    """What came to a receiver; `behaviours` are used up one by one, then it is good."""

    port: int = 0
    behaviours: list[Behaviour] = field(default_factory=list)
    refuses: Callable[[dict[str, Any]], bool] = lambda message: False
    messages: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    confirmed: list[str] = field(default_factory=list)
    server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"

    def start(self) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                message = json.loads(body)
                receiver.headers.append(
                    {name.lower(): value for name, value in self.headers.items()}
                )
                receiver.bodies.append(body)
                receiver.messages.append(message)
                if receiver.behaviours:
                    receiver.behaviours.pop(0)(self, message)
                elif receiver.refuses(message):
                    answer(422)(self, message)
                else:
                    receiver.confirmed += [event["id"] for event in message["data"]]
                    GOOD(self, message)

            def log_message(self, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=[0.02]).start()

    def kill(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Run a receiver of webhooks for a block."""
    receiver = Receiver()
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.kill()


@contextmanager
def collecting() -> Iterator[tuple[int, list[bytes]]]:
    """Run a receiver that reads each connection to its end; give port and contents."""
    contents: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection, connection.makefile("rb") as file:
                    contents.append(file.read())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], contents
        server.shutdown(socket.SHUT_RDWR)
    thread.join(2)
