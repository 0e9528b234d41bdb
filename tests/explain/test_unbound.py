"""A real DNS server with the local part of a configuration gives the same answers.

The server is unbound. It differs by design on wildcards, CNAME chasing, empty
non-terminals and zones inside zones, so the account holds none of these.
"""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest
from dnslib import QTYPE, RCODE, RR, A, DNSRecord

from meshmgmt.explain.resolution.explain import explain
from meshmgmt.explain.resolution.model import Outcome, OutcomeKind
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.snapshot import Nameserver, NameserverGroup, Record, Snapshot, Zone
from tests.explain.pure import NO_GROUPS, config, machine, placed
from tests.programs import program, running
from tests.servers import free_port

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


@contextmanager
def upstream(marker: str) -> Iterator[int]:
    """Run a nameserver; yield its port."""
    with Upstream(marker) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield int(server.server_address[1])
        server.shutdown()
        thread.join()


def account(domain_port: int, primary_port: int) -> Snapshot:
    def zone(domain: str, *records: tuple[str, str, str]) -> Zone:
        found = tuple(Record(*record, 60) for record in records)
        return Zone(domain, domain, domain, STAFF, found)

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


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PeerDns, int]]:
    """The configuration of p1 and the port of an unbound that serves it."""
    folder, port = tmp_path_factory.mktemp("unbound"), free_port()
    path, command = folder / "unbound.conf", program("unbound")
    with ExitStack() as stack:
        upstreams = [stack.enter_context(upstream(each)) for each in MARKERS.values()]
        got = config(account(*upstreams))
        path.write_text(unbound_config(got, port, folder))
        stack.enter_context(running([command, "-c", str(path)], port, folder))
        yield got, port


NAMES = [
    *("corp.test", "web.corp.test", "six.corp.test", "absent.corp.test"),
    *("box.lab.test", "absent.lab.test", "lab.test", "elsewhere.example"),
    *("ann.mesh.test", "bob.mesh.test", "absent.mesh.test"),
]


def explained(outcome: Outcome, rtype: str) -> Answer:
    """What is to come over the wire, as we explain it."""
    rcode = "NXDOMAIN" if outcome.kind is OutcomeKind.NXDOMAIN else "NOERROR"
    records = {(r.type, r.content) for r in outcome.records}
    if outcome.kind is OutcomeKind.FORWARDED and rtype == "A":
        [server] = outcome.servers
        marker = MARKERS["domain" if server.group.name == "Lab" else "primary"]
        records = {("A", marker)}
    return Answer(rcode, frozenset(records))


def test_unbound_gives_the_answers_we_explain(served: tuple[PeerDns, int]):
    got, port = served
    kinds, wrong = set(), []
    for name, rtype in product(NAMES, ("A", "AAAA")):
        outcome = explain(got, name, rtype).outcome
        kinds.add(outcome.kind.value)
        answer, expected = ask(port, name, rtype), explained(outcome, rtype)
        if answer != expected:
            wrong.append((name, rtype, answer, expected))
    assert wrong == []
    assert kinds == {"answer", "nodata", "nxdomain", "forwarded"}
