"""Asking real servers on loopback, well-behaved and not."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dnslib
import pytest

from meshmgmt.explain.live import ask, ask_all
from meshmgmt.explain.resolution.model import Outcome, OutcomeKind, Server
from meshmgmt.mesh.reasons import Subject

Reply = Callable[[dnslib.DNSRecord], bytes]
PATIENCE = 20.0  # seconds: a busy machine is no fault
GROUP = Subject("nameserver_group", "n1", "office")


def server_at(port: int, ip: str = "127.0.0.1") -> Server:
    """Return the server on a loopback port."""
    return Server(ip, port, "udp", GROUP)


def answer(question: dnslib.DNSRecord, *addresses: str) -> dnslib.DNSRecord:
    """Return a reply with A records."""
    reply = question.reply()
    for address in addresses:
        reply.add_answer(*dnslib.RR.fromZone(f"{question.q.qname} 60 A {address}"))
    return reply


def bound_pair() -> tuple[socket.socket, socket.socket]:
    """Return a UDP and a TCP socket bound to one free loopback port."""
    for _ in range(50):
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        datagrams.bind(("127.0.0.1", 0))
        try:
            stream.bind(datagrams.getsockname())
        except OSError:  # somebody has this port for TCP
            datagrams.close()
            stream.close()
        else:
            return datagrams, stream
    raise OSError("no port is free for both UDP and TCP")


@contextmanager
def nameserver(udp: Reply, tcp: Reply | None = None) -> Iterator[int]:
    """Run a DNS server whose replies are made by `udp` and `tcp`; yield its port."""
    datagrams, stream = bound_pair()
    with datagrams, stream:
        port = datagrams.getsockname()[1]
        stream.listen()

        def serve_udp() -> None:
            data, peer = datagrams.recvfrom(4096)
            datagrams.sendto(udp(dnslib.DNSRecord.parse(data)), peer)

        def serve_tcp() -> None:
            assert tcp is not None
            connection, _ = stream.accept()
            with connection:
                size = int.from_bytes(connection.recv(2))
                reply = tcp(dnslib.DNSRecord.parse(connection.recv(size)))
                connection.sendall(reply)

        threads = [threading.Thread(target=serve_udp, daemon=True)]
        if tcp is not None:
            threads.append(threading.Thread(target=serve_tcp, daemon=True))
        for thread in threads:
            thread.start()
        yield port
        for thread in threads:
            thread.join(5)


def framed(reply: dnslib.DNSRecord) -> bytes:
    """Return a reply as TCP carries it."""
    message: bytes = reply.pack()
    return len(message).to_bytes(2) + message


def test_answer_code_and_time_are_shown():
    with nameserver(lambda question: answer(question, "10.0.0.1").pack()) as port:
        found = ask(server_at(port), "www.example.test", "A", timeout=PATIENCE)
    assert (found.code, found.transport, found.error) == ("NOERROR", "udp", "")
    assert found.records == ("www.example.test. 60 IN A 10.0.0.1",)
    assert 0 < found.milliseconds < 2000


def reply_with(**header: int) -> Reply:
    """Return how to reply with no record and these fields of the header."""

    def reply(question: dnslib.DNSRecord) -> bytes:
        made = question.reply()
        for name, value in header.items():
            setattr(made.header, name, value)
        return bytes(made.pack())

    return reply


def test_refusal_is_shown_by_its_code():
    with nameserver(reply_with(rcode=dnslib.RCODE.NXDOMAIN)) as port:
        found = ask(server_at(port), "www.example.test", "AAAA", timeout=PATIENCE)
    assert (found.code, found.records) == ("NXDOMAIN", ())


def test_truncated_answer_is_asked_for_again_over_tcp():
    many = [f"10.0.{number}.1" for number in range(200)]
    with nameserver(reply_with(tc=1), lambda it: framed(answer(it, *many))) as port:
        found = ask(server_at(port), "www.example.test", "A", timeout=PATIENCE)
    assert found.transport == "tcp"
    assert len(found.records) == 200


def test_answer_to_another_question_is_not_taken():
    def stray(question: dnslib.DNSRecord) -> bytes:
        reply = answer(question, "10.0.0.1")
        reply.header.id ^= 1
        return bytes(reply.pack())

    with nameserver(stray) as port:
        found = ask(server_at(port), "www.example.test", "A", timeout=0.2)
    assert found.error == "no answer within 0.2 s"


def test_silent_server_and_closed_port_are_shown_as_such():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        found = ask(server_at(port), "www.example.test", "A", timeout=0.2)
    assert (found.error, found.code) == ("no answer within 0.2 s", "")
    assert found.milliseconds >= 200
    closed = ask(server_at(port), "www.example.test", "A", timeout=1)
    assert "refused" in closed.error.lower()


@pytest.mark.parametrize("junk", [b"", b"\x00" * 5, b"\xff" * 40])
def test_unreadable_answer_is_shown_as_such(junk: bytes):
    with nameserver(lambda question: junk) as port:
        found = ask(server_at(port), "www.example.test", "A", timeout=0.3)
    assert found.error
    assert found.records == ()


def test_broken_tcp_answer_is_shown_as_such():
    with nameserver(reply_with(tc=1), lambda question: b"\x01\x00abc") as port:
        found = ask(server_at(port), "www.example.test", "A", timeout=1)
    assert "closed" in found.error
    assert found.transport == "tcp"


def test_all_servers_are_asked_in_order():
    with (
        nameserver(lambda question: answer(question, "10.0.0.1").pack()) as first,
        nameserver(lambda question: answer(question, "10.0.0.2").pack()) as second,
    ):
        servers = (server_at(first), server_at(second))
        outcome = Outcome(OutcomeKind.FORWARDED, "www.example.test", servers=servers)
        found = ask_all(outcome, "A", timeout=PATIENCE)
    assert [each.server.port for each in found] == [first, second]
    assert [each.records[0][-8:] for each in found] == ["10.0.0.1", "10.0.0.2"]
