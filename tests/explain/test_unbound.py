"""A real DNS server with the local part of a configuration gives the same answers.

The server is unbound. It differs by design on wildcards, CNAME chasing, empty
non-terminals and zones inside zones, so the account holds none of these.
"""

import contextlib
import os
import shutil
import socket
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from dnslib import QTYPE, RCODE, RR, A, DNSRecord

from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import OutcomeKind
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.snapshot import Nameserver, NameserverGroup, Record, Snapshot, Zone
from tests.explain.pure import NO_GROUPS, config, machine, placed

UNBOUND = shutil.which("unbound", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.skipif(
    UNBOUND is None and not os.environ.get("CI"), reason="unbound is not installed"
)

STAFF = frozenset({"staff"})
MARKERS = {"domain": "192.0.2.50", "primary": "192.0.2.1"}


class Upstream(socketserver.ThreadingUDPServer):
    """A nameserver that answers every A question with its own marker."""

    def __init__(self, marker: str) -> None:
        super().__init__(("127.0.0.1", 0), UpstreamHandler)
        self.marker = marker


class UpstreamHandler(socketserver.BaseRequestHandler):
    """Answers one UDP question."""

    def handle(self) -> None:
        data, endpoint = self.request
        question = DNSRecord.parse(data)
        reply = question.reply()
        if question.q.qtype == QTYPE.A:
            assert isinstance(self.server, Upstream)
            reply.add_answer(RR(question.q.qname, ttl=5, rdata=A(self.server.marker)))
        endpoint.sendto(reply.pack(), self.client_address)


@dataclass(frozen=True)
class Answer:
    """What came over the wire: response code and (type, content) pairs."""

    rcode: str
    records: frozenset[tuple[str, str]]


def account(domain_port: int, primary_port: int) -> Snapshot:
    def zone(domain: str, *records: tuple[str, str, str]) -> Zone:
        return Zone(
            id=domain,
            name=domain,
            domain=domain,
            groups=STAFF,
            records=tuple(Record(n, t, c, 60) for n, t, c in records),
        )

    def at(port: int) -> tuple[Nameserver]:
        return (Nameserver("127.0.0.1", port),)

    ann = machine("p1", "ann", "100.64.0.1", "fd00::1")
    bob = machine("p2", "bob", "100.64.0.2")
    return replace(
        placed({ann: STAFF, bob: NO_GROUPS}, dns_domain="mesh.test"),
        zones=(
            zone(
                "corp.test",
                ("corp.test", "A", "10.0.0.1"),
                ("web.corp.test", "A", "10.0.0.2"),
                ("web.corp.test", "A", "10.0.0.3"),
                ("web.corp.test", "AAAA", "2001:db8::2"),
                ("six.corp.test", "AAAA", "2001:db8::6"),
                ("alias.corp.test", "CNAME", "web.corp.test"),
            ),
            zone("lab.test", ("box.lab.test", "A", "10.0.1.1")),
        ),
        nameserver_groups=(
            NameserverGroup("n1", "Lab", at(domain_port), STAFF, ("lab.test",)),
            NameserverGroup("n2", "All", at(primary_port), STAFF, primary=True),
        ),
    )


def unbound_config(got: PeerDns, port: int, folder: Path) -> str:
    """The configuration of a peer in unbound's words."""
    lines = [
        "server:",
        f"  interface: 127.0.0.1@{port}",
        f'  directory: "{folder}"',
        '  username: ""',
        '  chroot: ""',
        f'  pidfile: "{folder}/unbound.pid"',
        "  use-syslog: no",
        "  do-ip6: no",
        "  do-daemonize: no",
        "  do-not-query-localhost: no",
        '  module-config: "iterator"',
        "  num-threads: 1",
    ]
    for zone in got.zones:
        # `transparent`: an absent name is resolved as if the zone were not there.
        kind = "static" if zone.authoritative else "transparent"
        lines.append(f'  local-zone: "{zone.domain}." {kind}')
        lines += [
            f'  local-data: "{r.name}. {r.ttl} IN {r.type} {r.content}'
            + ('."' if r.type == "CNAME" else '"')
            for r in zone.records
        ]
    lines.append('  local-zone: "test." transparent')
    lines += ["remote-control:", "  control-enable: no"]
    for group in got.servers:
        for domain in group.domains or ("",):
            lines += ["forward-zone:", f'  name: "{domain}."']
            lines += [f"  forward-addr: {s.ip}@{s.port}" for s in group.nameservers]
    return "\n".join(lines) + "\n"


def ask(port: int, name: str, rtype: str) -> Answer:
    reply = DNSRecord.parse(
        DNSRecord.question(name, rtype).send("127.0.0.1", port, timeout=5)
    )
    return Answer(
        RCODE[reply.header.rcode],
        frozenset((QTYPE[rr.rtype], str(rr.rdata).rstrip(".")) for rr in reply.rr),
    )


def free_port() -> int:
    """Return a port that is free for UDP and TCP: unbound takes both."""
    while True:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp,
        ):
            udp.bind(("127.0.0.1", 0))
            port: int = udp.getsockname()[1]
            with contextlib.suppress(OSError):
                tcp.bind(("127.0.0.1", port))
                return port


def start_unbound(got: PeerDns, folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start unbound; somebody may take its port just before it does."""
    assert UNBOUND is not None, "unbound is needed in CI"
    path, log = folder / "unbound.conf", folder / "log"
    for _ in range(5):
        port = free_port()
        path.write_text(unbound_config(got, port, folder))
        with log.open("wb") as output:
            process = subprocess.Popen(
                [UNBOUND, "-c", path], stdout=output, stderr=output
            )
        if answers(port, process):
            return process, port
        process.wait(10)
    pytest.fail(f"unbound did not start: {log.read_text()}")


def answers(port: int, process: subprocess.Popen[bytes]) -> bool:
    """Wait until unbound answers; return False when it has ended instead."""
    deadline = time.monotonic() + 30
    while process.poll() is None:
        try:
            DNSRecord.question("ann.mesh.test").send("127.0.0.1", port, timeout=0.2)
        except OSError:
            assert time.monotonic() < deadline, "unbound does not answer"
        else:
            return True
    return False


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PeerDns, int]]:
    """The configuration of p1 and the port of an unbound that serves it."""
    folder = tmp_path_factory.mktemp("unbound")
    upstreams = [Upstream(marker) for marker in MARKERS.values()]
    threads = [threading.Thread(target=u.serve_forever) for u in upstreams]
    for thread in threads:
        thread.start()
    got = config(account(*(u.server_address[1] for u in upstreams)))
    try:
        process, port = start_unbound(got, folder)
        try:
            yield got, port
        finally:
            process.terminate()
            process.wait(10)
    finally:
        for upstream in upstreams:
            upstream.shutdown()
            upstream.server_close()
        for thread in threads:
            thread.join()


@pytest.mark.parametrize("rtype", ["A", "AAAA"])
@pytest.mark.parametrize(
    "name",
    [
        "corp.test",
        "web.corp.test",
        "six.corp.test",
        "absent.corp.test",
        "box.lab.test",
        "absent.lab.test",
        "lab.test",
        "ann.mesh.test",
        "bob.mesh.test",
        "absent.mesh.test",
        "elsewhere.example",
    ],
)
def test_unbound_gives_the_answers_we_explain(
    served: tuple[PeerDns, int], name: str, rtype: str
) -> None:
    got, port = served
    outcome = explain(got, name, rtype).outcome
    answer = ask(port, name, rtype)
    match outcome.kind:
        case OutcomeKind.ANSWER:
            expected = frozenset((r.type, r.content) for r in outcome.records)
            assert answer == Answer("NOERROR", expected)
        case OutcomeKind.NODATA:
            assert answer == Answer("NOERROR", frozenset())
        case OutcomeKind.NXDOMAIN:
            assert answer == Answer("NXDOMAIN", frozenset())
        case OutcomeKind.FORWARDED:
            [server] = outcome.servers
            marker = MARKERS["domain" if server.group.name == "Lab" else "primary"]
            records = {("A", marker)} if rtype == "A" else set()
            assert answer == Answer("NOERROR", frozenset(records))
        case _:
            pytest.fail(f"unexpected outcome {outcome.kind}")


def test_the_questions_cover_every_kind_of_end(served: tuple[PeerDns, int]) -> None:
    got, _ = served
    ends = {
        explain(got, name, rtype).outcome.kind.value
        for name in ("web.corp.test", "six.corp.test", "bob.mesh.test", "a.lab.test")
        for rtype in ("A", "AAAA")
    }
    assert ends == {"answer", "nodata", "nxdomain", "forwarded"}
