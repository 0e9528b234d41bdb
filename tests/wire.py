"""Requests to a real server, and how its texts are read."""

import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.waiting import PATIENCE

LOOPBACK: Final = "127.0.0.1"


@dataclass
class Reply:
    """Status, headers (lower-case names) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


def request(
    port: int,
    path: str,
    method: str = "GET",
    body: Any = None,
    *,
    address: str = LOOPBACK,
    **headers: str,
) -> Reply:
    """Send one request on a connection of its own.

    Texts are sent as they are, an iterator in chunks, and anything else as JSON.
    """
    raw = body is None or isinstance(body, str | bytes | Iterator)
    sent, chunked = body if raw else json.dumps(body), isinstance(body, Iterator)
    wire = http.client.HTTPConnection(address, port, timeout=PATIENCE)
    with closing(wire) as connection:
        connection.request(method, path, sent, headers, encode_chunked=chunked)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Reply(answer.status, found, answer.read())


HALF_HEAD: Final = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n"
HALF_BODY: Final = (
    b"POST /api/groups HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"
)


@contextmanager
def half_request(port: int, data: bytes = HALF_HEAD) -> Iterator[socket.socket]:
    """Begin a request on a connection; yields it."""
    with socket.create_connection((LOOPBACK, port), PATIENCE) as connection:
        connection.sendall(data)
        yield connection


def value_of(scrape: str, series: str) -> float:
    """Return the value of one series, 0 when it is absent."""
    for line in scrape.splitlines():
        if line.startswith(f"{series} "):
            return float(line.rpartition(" ")[2])
    return 0.0


def json_records(text: str) -> list[dict[str, Any]]:
    """Return the lines that are whole JSON objects."""
    return [
        json.loads(line)
        for line in text.splitlines()
        if line.startswith("{") and line.endswith("}")
    ]
