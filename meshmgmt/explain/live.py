"""Asks real DNS servers a question (RFC 1035): UDP first, TCP when truncated."""

import socket
import time
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

import dnslib

from meshmgmt.core.clock import seconds_left
from meshmgmt.explain.resolution.model import Outcome, Server

TIMEOUT_SECONDS: Final = 2.0
_UDP_BYTES: Final = 65535
_LENGTH_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class LiveAnswer:
    """What one server said.

    `code` is the response code's name ("" without an answer), `records` the answer
    section as text, `error` why there is none. `milliseconds` counts to the answer or to
    giving up.
    """

    server: Server
    code: str
    records: tuple[str, ...]
    transport: str
    milliseconds: float
    error: str = ""


def ask_all(
    outcome: Outcome, record_type: str, *, timeout: float = TIMEOUT_SECONDS
) -> list[LiveAnswer]:
    """Ask every server of a forwarded look-up, in its order; `timeout` in seconds."""
    return [
        ask(server, outcome.name, record_type, timeout=timeout)
        for server in outcome.servers
    ]


def ask(
    server: Server, name: str, record_type: str, *, timeout: float = TIMEOUT_SECONDS
) -> LiveAnswer:
    """Ask one server; `timeout` seconds for UDP, and again for TCP."""
    question = dnslib.DNSRecord.question(name, record_type)
    started = time.perf_counter()
    transport = "udp"
    try:
        reply = _over_udp(server, question, timeout)
        # Truncated: the rest comes over TCP (RFC 1035, 4.2.1).
        if reply.header.tc:
            transport = "tcp"
            reply = _over_tcp(server, question, timeout)
    except TimeoutError:
        error = f"no answer within {timeout:g} s"
    except (OSError, dnslib.DNSError) as fault:
        error = getattr(fault, "strerror", None) or str(fault)
    else:
        return LiveAnswer(
            server,
            str(dnslib.RCODE.get(reply.header.rcode)),
            # Without the blanks that dnslib pads columns with.
            tuple(" ".join(str(record).split()) for record in reply.rr),
            transport,
            _milliseconds(started),
        )
    return LiveAnswer(server, "", (), transport, _milliseconds(started), error)


def _over_udp(
    server: Server, question: dnslib.DNSRecord, timeout: float
) -> dnslib.DNSRecord:
    deadline = time.monotonic() + timeout
    with socket.socket(_family(server), socket.SOCK_DGRAM) as sock:
        sock.connect((server.ip, server.port))
        # Connected, UDP hears at once of a port that nobody listens at (ICMP).
        sock.send(question.pack())
        while True:
            sock.settimeout(seconds_left(deadline))
            reply = dnslib.DNSRecord.parse(sock.recv(_UDP_BYTES))
            if reply.header.id == question.header.id:  # others answer nobody here
                return reply


def _over_tcp(
    server: Server, question: dnslib.DNSRecord, timeout: float
) -> dnslib.DNSRecord:
    deadline = time.monotonic() + timeout
    with socket.socket(_family(server), socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout)
        sock.connect((server.ip, server.port))
        message = question.pack()
        sock.sendall(len(message).to_bytes(_LENGTH_BYTES) + message)
        # Over TCP each message has its length before it (RFC 1035, 4.2.2).
        length = int.from_bytes(_receive(sock, _LENGTH_BYTES, deadline))
        return dnslib.DNSRecord.parse(_receive(sock, length, deadline))


def _receive(sock: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        sock.settimeout(seconds_left(deadline))
        piece = sock.recv(size - len(data))
        if not piece:
            raise ConnectionError("the server closed the connection")
        data += piece
    return data


def _family(server: Server) -> socket.AddressFamily:
    is_v6 = ip_address(server.ip).version == 6  # noqa: PLR2004
    return socket.AF_INET6 if is_v6 else socket.AF_INET


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
