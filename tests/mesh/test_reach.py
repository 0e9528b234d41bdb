"""Whether one peer reaches something, and why not; many pairs, and slices of traffic."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from meshmgmt.control.checks import Unsendable
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.between import alike, unmet
from meshmgmt.mesh.reach import (
    PROTOCOLS,
    Destination,
    Obstacle,
    Traffic,
    Verdict,
    verdict,
)
from meshmgmt.mesh.reach.traffic import ALL, Filter, Slice, judged, matching, slices
from meshmgmt.mesh.snapshot import (
    Policy,
    PostureCheck,
    Resource,
    Route,
    Router,
    Rule,
    RuleSide,
    Settings,
    Snapshot,
    User,
)
from tests.explain.pure import machine, with_peer
from tests.explain.pushed import message
from tests.mesh.meshes import NOW, PEERS, Remembering, side, snapshots
from tests.mesh.packets import Packet, Wire

PLACES = [
    "10.0.0.7", "10.9.1.1", "10.9.0.0", "8.8.8.8", "fd01::5", "fd02::1", "2001:db8::1",
    "x.test", "y.test", "www.x.test", "z.test",
]  # fmt: skip
PORTS = (1, 5, 10, 22, 30, 31, 443, 22022, 65535)


def test_what_would_be_dropped_once_it_is_let_through_is_told_of_both():
    drop = Rule("x", side("staff"), side("servers"), accept=False)
    off = with_policy(account(), "sql", enabled=False)
    both = replace(off, policies=(*off.policies, Policy("no", (drop,), name="no")))
    told = {
        each.kind: each.text
        for each in verdict(Mesh(both, NOW), "a", BELA, SQL).obstacles
    }
    assert {"disabled", "drop"} <= told.keys()
    assert told["drop"].startswith("policy no drops TCP 5432")


def wire(mesh: Mesh) -> Wire:
    peers = mesh.snapshot.peers
    maps = {peer.key: message(mesh, id_) for id_, peer in peers.items()}
    owners = {peer.ip: peer.key for peer in peers.values()}
    owners |= {peer.ipv6: peer.key for peer in peers.values() if peer.ipv6}
    return Wire(maps, owners)


def packets(to: str) -> list[Packet]:
    """One packet of each kind that a rule of the random accounts could single out."""
    ported = [Packet(name, port, to) for name in ("tcp", "udp") for port in PORTS]
    return [*ported, Packet("icmp", 0, to), Packet("other", 0, to)]


def meant(snapshot: Snapshot, to: str) -> Destination:
    for peer in snapshot.peers.values():
        if to in (peer.ip, peer.ipv6):
            return Destination("peer", peer.id, to)
    return Destination("domain" if to.endswith(".test") else "address", "", to)


def check_packets(snapshot: Snapshot, asked: int) -> None:
    """Compare verdicts: of all packets at once, and of so many drawn from them."""
    mesh, chance = Remembering(snapshot), Random(len(repr(snapshot)))
    with suppress(Unsendable):
        agents = wire(mesh)
        addresses = [a for p in snapshot.peers.values() for a in (p.ip, p.ipv6) if a]
        for source in snapshot.peers.values():
            for to in (*addresses, *PLACES):
                destination = meant(snapshot, to)
                arriving = {p: agents.arrives(source.key, p) for p in packets(to)}
                told_apart = [p for p in arriving if p.protocol != "other"]
                for packet in chance.sample(told_apart, asked):
                    traffic = Traffic(packet.protocol, packet.port or None)
                    found = verdict(mesh, source.id, destination, traffic)
                    assert found.allowed == arriving[packet], (source.id, packet, found)
                    kind = destination.kind
                    event(f"{kind} {found.path} {'in' if found.allowed else 'out'}")
                whole = verdict(mesh, source.id, destination, Traffic())
                assert whole.allowed == all(arriving.values()), (source.id, to, whole)


MANY = pytest.param(100, 19, marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.parametrize(("examples", "asked"), [(40, 5), MANY])
def test_verdict_is_what_agents_do_with_packets(examples: int, asked: int):
    drawn = given(snapshots(), st.just(asked))
    settings(max_examples=examples)(drawn(check_packets))()


@settings(max_examples=100, deadline=None)
@given(snapshots(), st.sampled_from(["tcp", "all"]))
def test_resource_is_reached_when_all_of_it_is(snapshot: Snapshot, protocol: str):
    mesh = Remembering(snapshot)
    for resource in snapshot.resources:
        for source in snapshot.peers:
            traffic = Traffic(protocol)
            whole = verdict(mesh, source, Destination("resource", resource.id), traffic)
            kind = "domain" if resource.is_domain else "address"
            samples = {
                "10.9.0.0/16": ["10.9.0.0", "10.9.255.255"],
                "0.0.0.0/0": ["0.0.0.0", "10.0.0.1", "10.9.7.7", "10.0.1.0", "8.8.8.8"],
                "fd02::1/128": ["fd02::1"],
            }.get(resource.address, [resource.address])
            each = [
                verdict(mesh, source, Destination(kind, "", text), traffic).allowed
                for text in samples
            ]
            assert whole.allowed == all(each)


SQL = Traffic("tcp", 5432)
STAFF, LAN = frozenset({"staff"}), frozenset({"lan"})


def account(**changes: Any) -> Snapshot:
    """Anna may reach Bela's database; a route and a resource lie behind Carl."""
    peers = [
        machine("a", "anna", "100.64.0.1"),
        machine("b", "bela", "100.64.0.2", "fd00::2"),
        machine("c", "carl", "100.64.0.3"),
    ]
    rule = Rule("r", side("staff"), side("servers"), bidirectional=False,
                protocol="tcp", ports=(5432,))  # fmt: skip
    meet = Rule("m", side("staff"), RuleSide(peer="c"), protocol="icmp")
    lan = Rule("l", side("staff"), side("lan"), protocol="tcp", ports=(5432,))
    plain = Snapshot(
        settings=Settings(dns_domain="mesh.lan"),
        peers={peer.id: peer for peer in peers},
        members={
            "staff": frozenset("a"),
            "servers": frozenset("b"),
            "spare": frozenset(),
        },
        policies=tuple(
            Policy(name, (each,), name=name)
            for name, each in (("sql", rule), ("meet", meet), ("lan", lan))
        ),
        routes=(
            Route("t", "office", STAFF, "10.1.0.0/16", peer="c", access_groups=LAN),
        ),
        routers=(Router("w", "n", peer="c"),),
        resources=(
            Resource("s", "n", "printer", "10.2.0.1/32", groups=LAN),
            Resource("d", "n", "wiki", "*.corp.test", is_domain=True, groups=LAN),
        ),
    )
    return replace(plain, **changes)


def with_rule(snapshot: Snapshot, name: str, **changes: Any) -> Snapshot:
    """The account with another rule in the policy of that name."""
    [policy] = [policy for policy in snapshot.policies if policy.id == name]
    rules = tuple(replace(rule, **changes) for rule in policy.rules)
    return with_policy(snapshot, name, rules=rules)


def with_policy(snapshot: Snapshot, name: str, **changes: Any) -> Snapshot:
    policies = [replace(p, **changes) if p.id == name else p for p in snapshot.policies]
    return replace(snapshot, policies=tuple(policies))


BELA = Destination("peer", "b", "100.64.0.2")
OFFICE = Destination("address", "", "10.1.2.3")
PRINTER = Destination("resource", "s", "10.2.0.1/32")
WIKI = Destination("domain", "", "www.corp.test")


def ask(
    snapshot: Snapshot,
    to: Destination = BELA,
    traffic: Traffic = SQL,
    source: str = "a",
    offline: Collection[str] = (),
) -> Verdict:
    return verdict(Mesh(snapshot, NOW), source, to, traffic, offline)


@pytest.mark.parametrize(
    ("to", "path", "via"),
    [(BELA, "direct", []), (OFFICE, "routed", ["carl"]), (PRINTER, "routed", ["carl"]),
     (WIKI, "routed", ["carl"])],
)  # fmt: skip
def test_what_is_let_through_names_the_rule_and_the_way(
    to: Destination, path: str, via: list[str]
):
    found = ask(account(), to)
    assert found.allowed
    assert found.path == path
    assert [each.peer.name for each in found.via] == via
    [because] = found.because
    assert because.text.endswith("lets TCP 5432 through")
    assert because.effect == "accept"
    assert not found.obstacles


CHECKS = {
    "new": PostureCheck("new", {"nb_version_check": {"min_version": "0.50"}}, "new")
}
CASES: list[tuple[str, Snapshot, Destination, Traffic, str, str]] = [
    ("direction", account(policies=(Policy("back", (Rule("k", side("servers"),
     side("staff"), bidirectional=False),), name="back"),)), BELA, SQL,
     "policy back lets only peer bela begin", "bidirectional"),
    ("port", account(), BELA, Traffic("tcp", 22), "lets only TCP 5432", "add TCP 22 to"),
    ("protocol", account(), BELA, Traffic("icmp"), "lets only TCP 5432", "add ICMP to"),
    ("part", account(), BELA, Traffic("tcp"), "no rule lets TCP 1-5431 and 5433-65535",
     "add a rule"),
    ("posture", with_peer(with_policy(account(checks=CHECKS), "sql", checks=("new",)),
     "a", version="0.45.0"), BELA, SQL, "its client is 0.45.0", "pass new"),
    ("disabled", with_policy(account(), "sql", enabled=False), BELA, SQL,
     "but it is disabled", "enable policy sql"),
    ("disabled", with_rule(account(), "sql", enabled=False), BELA, SQL,
     "but its rule is disabled", "enable the rule of policy sql"),
    ("drop", account(policies=(*account().policies, Policy("no", (Rule("x",
     side("staff"), side("servers"), accept=False),), name="no"))), BELA, SQL,
     "policy no drops TCP 5432", "disable policy no"),
    ("approval_pending", with_peer(account(), "b", approved=False), BELA, SQL,
     "peer bela waits", "approve peer bela"),
    ("login_expired", with_peer(account(), "a", login_expired=True), BELA, SQL,
     "login of peer anna expired", "sign in again"),
    ("owner_blocked", with_peer(account(users={"u": User("u", blocked=True)}), "b",
     user_id="u"), BELA, SQL, "owner of peer bela is blocked", "unblock"),
    ("ipv6", account(), Destination("peer", "b", "fd00::2"), SQL,
     "peer anna has no IPv6 address", "group with IPv6"),
    ("group", account(members={"staff": frozenset(), "servers": frozenset("b")}), BELA,
     SQL, "were peer anna in staff", "add peer anna to staff"),
    ("client", with_peer(with_rule(account(), "sql", ports=(), ranges=((5000, 6000),)),
     "b", version="0.45.0"), BELA, SQL, "knows no port ranges", "update the client"),
    ("no_policy", account(policies=()), BELA, SQL, "no policy lets peer anna", "add a"),
    ("route_disabled", account(routes=(replace(account().routes[0], enabled=False),)),
     OFFICE, SQL, "route office is disabled", "enable route office"),
    ("distribution", account(routes=(replace(account().routes[0],
     groups=frozenset({"spare"})),)), OFFICE, SQL, "not distributed to peer anna",
     "add peer anna to spare"),
    ("port", account(), OFFICE, Traffic("tcp", 80), "lets only TCP 5432", "TCP 80"),
    ("no_policy", with_policy(account(), "meet", rules=()), OFFICE, SQL,
     "meet peer carl", "add a policy"),
    ("disabled", with_policy(account(), "meet", enabled=False), OFFICE, SQL,
     "policy meet would let it through, but it is disabled", "enable policy meet"),
    ("approval_pending", with_peer(account(), "c", approved=False), OFFICE, SQL,
     "peer carl waits", "approve peer carl"),
    ("no_routing_peer", account(routes=(replace(account().routes[0], peer=None),)),
     OFFICE, SQL, "route office has no routing peer", "add a routing peer"),
    ("router_disabled", account(routers=(Router("w", "n", peer="c", enabled=False),)),
     PRINTER, SQL, "routers of resource printer are disabled", "enable a router"),
    ("no_routing_peer", account(routers=()), PRINTER, SQL, "printer has no routing peer",
     "add a routing peer"),
    ("resource_disabled", account(resources=(replace(account().resources[0],
     enabled=False),)), PRINTER, SQL, "resource printer is disabled",
     "enable resource printer"),
    ("protocol", account(), WIKI, Traffic("udp"), "lets only TCP 5432", "add UDP"),
    ("unrouted", account(), Destination("domain", "", "corp.test"), SQL,
     "nothing routes corp.test", "add a route"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "snapshot", "to", "traffic"),
    [((kind, text, remedy), *asked) for kind, *asked, text, remedy in CASES],
    ids=[f"{case[0]} {case[2].kind}" for case in CASES],
)
def test_what_is_in_the_way_is_named_with_its_remedy(
    expected: tuple[str, str, str],
    snapshot: Snapshot,
    to: Destination,
    traffic: Traffic,
):
    kind, text, remedy = expected
    found = ask(snapshot, to, traffic)
    assert not found.allowed
    assert any(
        each.kind == kind and text in each.text and remedy in each.remedy
        for each in found.obstacles
    ), found.obstacles


def test_a_drop_rule_decides_though_another_accepts():
    [snapshot] = [case for kind, case, *_ in CASES if kind == "drop"]
    [because] = ask(snapshot).because
    assert because.policy is not None
    assert (because.effect, because.policy.name) == ("drop", "no")


def test_who_is_not_connected_is_told_and_changes_no_verdict():
    for to, name in ((BELA, "bela"), (OFFICE, "carl")):
        found = ask(account(), to, offline="bc")
        assert found.allowed
        assert [(o.kind, o.text) for o in found.obstacles] == [
            ("offline", f"peer {name} is not connected")
        ]


def test_an_exit_node_carries_what_nothing_else_does():
    out = Route("x", "out", STAFF, "0.0.0.0/0", peer="c", skip_auto_apply=True)
    anywhere = Destination("address", "", "8.8.8.8")
    found = ask(account(routes=(out,)), anywhere, Traffic())
    assert found.allowed
    assert [via.route.name for via in found.via] == ["out"]
    assert [each.kind for each in found.obstacles] == ["not_selected"]


def test_every_routing_peer_must_let_it_through():
    two = replace(account().routers[0], peer=None, peer_groups=frozenset({"routing"}))
    members = {**account().members, "routing": frozenset("bc")}
    drops = Rule("x", side("staff"), RuleSide(resource="s"), accept=False)
    found = ask(account(routers=(two,), members=members), PRINTER)
    assert [via.allowed for via in found.via] == [True, True]
    policies = (Policy("no", (drops,)), *account().policies)
    snapshot = account(routers=(two,), members=members, policies=policies)
    assert not ask(snapshot, PRINTER).allowed


def test_a_routing_peer_needs_no_rule_for_its_own_networks():
    found = ask(account(), OFFICE, source="c")
    assert found.allowed
    assert (found.path, found.via) == ("direct", ())


@pytest.mark.parametrize("inner", ["10.9.3.0/24", "10.9.3.7/32"])
def test_maps_are_made_of_those_alone_whom_a_way_leads_to(inner: str):
    numbers = range(9)
    peers = [machine(f"p{n}", f"router{n}", f"100.64.1.{n}") for n in numbers]
    lans = [
        Resource(f"s{n}", f"n{n}", "lan", f"10.9.{n}.0/24", groups=LAN) for n in numbers
    ]
    mesh = Remembering(
        account(
            peers={**account().peers, **{peer.id: peer for peer in peers}},
            routers=tuple(Router(f"w{n}", f"n{n}", peer=f"p{n}") for n in numbers),
            resources=(*lans, Resource("x", "n3", "inner", inner, groups=LAN)),
        )
    )
    assert len(mesh.network_map("a").routes) == 11
    mesh.maps.clear()
    assert verdict(mesh, "a", Destination("resource", "x", inner), SQL).allowed
    assert mesh.maps.keys() == {"a", "p3"}


@given(snapshots(), st.integers(min_value=0, max_value=2))
def test_few_obstacles_are_the_first_of_all(snapshot: Snapshot, most: int):
    mesh = Remembering(snapshot)
    for source in snapshot.peers:
        for to in PLACES:
            there = meant(snapshot, to)
            found = verdict(mesh, source, there, SQL)
            few = verdict(mesh, source, there, SQL, most=most)
            rules, states = split(found.obstacles)
            assert split(few.obstacles) == (rules[:most], states)
            assert replaced(few) == replaced(found)


def split(told: Collection[Obstacle]) -> tuple[list[Obstacle], list[Obstacle]]:
    """Return what is in the way by the rules, and by the state of machines."""
    machines = ("offline", "not_selected")
    rules = [each for each in told if each.kind not in machines]
    return rules, [each for each in told if each.kind in machines]


def replaced(found: Verdict) -> Verdict:
    return found._replace(obstacles=())


ENDS = st.frozensets(st.sampled_from(PEERS), min_size=1)
TRAFFIC = st.one_of(
    st.sampled_from([Traffic(name) for name in PROTOCOLS]),
    st.builds(
        Traffic, st.sampled_from(["tcp", "udp"]), st.sampled_from([5, 22, 443, 22022])
    ),
)


def lets_something(found: Verdict) -> bool:
    return any(each.effect == "accept" for each in found.because)


@settings(max_examples=300, deadline=None)
@given(snapshots(), ENDS, ENDS, TRAFFIC)
def test_pairs_that_break_a_promise_are_those_of_the_verdict(
    snapshot: Snapshot, first: frozenset[str], second: frozenset[str], traffic: Traffic
):
    mesh = Remembering(snapshot)
    sources, targets = first & snapshot.peers.keys(), second & snapshot.peers.keys()
    all_of, any_of = set(), set()
    for source in sources:
        for target in targets - {source}:
            destination = Destination("peer", target, snapshot.peers[target].ip)
            found = verdict(mesh, source, destination, traffic)
            if not found.allowed:
                all_of.add((source, target))
            if lets_something(found):
                any_of.add((source, target))
    assert set(unmet(mesh, sources, targets, traffic, reach=True)) == all_of
    assert set(unmet(mesh, sources, targets, traffic, reach=False)) == any_of
    event(f"{bool(all_of)} {bool(any_of)}")


@settings(max_examples=60, deadline=None)
@given(snapshots(), TRAFFIC)
def test_peers_that_are_alike_have_one_verdict(snapshot: Snapshot, traffic: Traffic):
    mesh = Remembering(snapshot)
    meant_ = [meant(snapshot, place) for place in PLACES]
    meant_ += [meant(snapshot, p.ipv6) for p in snapshot.peers.values() if p.ipv6]
    meant_ += [Destination("resource", each.id) for each in snapshot.resources]
    for destination in meant_:
        parts = list(alike(mesh, snapshot.peers, around=destination.id))
        assert sorted(p for part in parts for p in part) == sorted(snapshot.peers)
        for part in parts:
            found = [verdict(mesh, p, destination, traffic) for p in part]
            told = {(each.allowed, lets_something(each)) for each in found}
            assert len(told) == 1, (destination, part)
            event(f"{len(part)} alike")


def test_who_would_route_a_place_again_is_alike_to_nobody_on_the_way_there():
    made = account()
    [route] = made.routes
    staff = {**made.members, "staff": frozenset("ad")}
    off = replace(route, id="off", peer="a", enabled=False)
    peers = {**made.peers, "d": machine("d", "dora", "100.64.0.9")}
    mesh = Remembering(replace(made, members=staff, peers=peers, routes=(route, off)))
    allowed = {p: verdict(mesh, p, OFFICE, Traffic("tcp", 5432)).allowed for p in "ad"}
    assert allowed == {"a": False, "d": True}
    assert not [part for part in alike(mesh, "ad", around="") if len(part) > 1]


FEW_PORTS = st.integers(1, 8)


@st.composite
def filters(draw: st.DrawFn) -> list[Filter]:
    """Draw filters of few ports, so that they overlap."""
    found = []
    for number in range(draw(st.integers(0, 6))):
        protocol = draw(st.sampled_from([ALL, "tcp", "udp", "icmp"]))
        first = last = 0
        if protocol in ("tcp", "udp") and draw(st.booleans()):
            first, last = sorted((draw(FEW_PORTS), draw(FEW_PORTS)))
        accept = draw(st.booleans())
        found.append(Filter(accept, protocol, "p", f"r{number}", first, last))
    return found


traffic = st.one_of(
    st.builds(Traffic, st.sampled_from([ALL, "tcp", "udp", "icmp"])),
    st.builds(Traffic, st.sampled_from(["tcp", "udp"]), FEW_PORTS),
)


def has(one: Filter, packets: Slice) -> bool:
    """Tell whether a filter has all of a slice."""
    whole = not one.first or one.first <= packets.first <= packets.last <= one.last
    return one.protocol in (ALL, packets.protocol) and whole


@given(traffic, filters())
@example(Traffic("tcp"), [])
def test_each_slice_is_decided_by_the_first_that_drops_it_or_else_that_accepts_it(
    asked: Traffic, found: list[Filter]
):
    ordered = sorted(found, key=lambda one: one.accept)
    expected = [
        (each, next((one for one in ordered if has(one, each)), None))
        for each in slices(asked, found)
    ]
    assert [tuple(part) for part in judged(asked, found)] == expected


@given(traffic, st.lists(filters(), max_size=3))
def test_of_each_slice_it_is_told_who_has_a_filter_for_all_of_it(
    asked: Traffic, several: list[list[Filter]]
):
    cut = list(slices(asked, [one for found in several for one in found]))
    named = {str(number): found for number, found in enumerate(several)}
    assert matching(cut, named) == [
        tuple(name for name, found in named.items() if any(has(x, each) for x in found))
        for each in cut
    ]
