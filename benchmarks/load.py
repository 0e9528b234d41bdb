"""A small HTTP client that costs little enough not to be what is measured."""

import socket
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

Build = Callable[[int], bytes]


class Connection:
    """One kept-alive connection to a server on loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open()

    def _open(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), 120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._file = self._socket.makefile("rb")

    def exchange(self, request: bytes) -> tuple[int, bytes]:
        """Send a whole request and return status and body of its answer."""
        first = self._first_line(request)
        if (
            not first
        ):  # the worker had answered its number of requests, and was replaced
            self.close()
            self._open()
            first = self._first_line(request)
        status = int(first.split()[1])
        length = 0
        while (line := self._file.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return status, self._file.read(length)

    def _first_line(self, request: bytes) -> bytes:
        """Send, and return how the answer begins: with nothing where nobody is left."""
        try:
            self._socket.sendall(request)
            return self._file.readline()
        except (BrokenPipeError, ConnectionResetError):
            return b""

    def close(self) -> None:
        """Close the connection."""
        self._file.close()
        self._socket.close()


def request(
    method: str, path: str, token: str, body: bytes = b"", host: str = "127.0.0.1"
) -> bytes:
    """Return the bytes of a request with a JSON body."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Token {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def rate(port: int, build: Build, *, connections: int, seconds: float) -> float:
    """Return answers per second of `connections` clients that each wait for theirs.

    `build(n)` gives the n-th request. Raises AssertionError for an answer other than 200.
    """
    counts = [0] * connections
    bad: list[bytes] = []
    deadline = time.perf_counter() + seconds

    def client(index: int) -> None:
        connection = Connection(port)
        number = index
        while time.perf_counter() < deadline and not bad:
            status, body = connection.exchange(build(number))
            if status != 200:
                bad.append(body)
            counts[index] += 1
            number += connections
        connection.close()

    started = time.perf_counter()
    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(client, range(connections)))  # raises what a client raised
    took = time.perf_counter() - started
    assert not bad, bad[0][:300]
    return sum(counts) / took


def _same(message: bytes, number: int) -> bytes:
    return message


def alternating_rates(
    *targets: tuple[int, bytes],
    connections: int = 4,
    times: int = 5,
    seconds: float = 1.0,
) -> list[float]:
    """Return the median rates of servers that take turns, by port and request."""
    rates: list[list[float]] = [[] for _ in targets]
    for turn in range(times + 1):
        for (port, message), kept in zip(targets, rates, strict=True):
            same = partial(_same, message)
            found = rate(port, same, connections=connections, seconds=seconds)
            if turn:  # the first does not count
                kept.append(found)
    return [statistics.median(kept) for kept in rates]
