"""Who may begin what with whom: drawn on groups, told of one peer, before and after."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshmgmt.explain.api.serializers import GraphSerializer
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.graph import (
    NAMED,
    Edge,
    Graph,
    Neighbours,
    graph,
    neighbours,
    subject_with,
)
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.mesh.reach.traffic import rule_words
from meshmgmt.mesh.shifts import MOST, Shift, shifts
from meshmgmt.mesh.snapshot import (
    Policy,
    PostureCheck,
    Resource,
    Route,
    Rule,
    RuleSide,
    Settings,
    Snapshot,
)
from tests.explain.pure import machine
from tests.mesh.meshes import NOW, side, snapshots

TCP = Traffic("tcp", 22)
NAMES = {"staff": "Staff", "servers": "Servers", "lan": "LAN", "none": "None"}
PRINTER = Resource("s", "n", "printer", "10.2.0.1/32", groups=frozenset({"lan"}))
OFFICE = Route(
    "t", "office", frozenset(), "10.1.0.0/16", access_groups=frozenset({"none"})
)


def rule(id_: str, left: RuleSide, right: RuleSide, **changes: Any) -> Policy:
    enabled = changes.pop("policy_enabled", True)
    checks = changes.pop("checks", ())
    made = Rule(id_, left, right, **changes)
    return Policy(f"p-{id_}", (made,), enabled, checks, f"via {id_}")


def account(*policies: Policy, **changes: Any) -> Snapshot:
    peers = [machine(f"{n}", n, f"100.64.0.{i}") for i, n in enumerate("abc", 1)]
    plain = Snapshot(
        settings=Settings(),
        peers={peer.id: peer for peer in peers},
        members={"staff": frozenset("ab"), "servers": frozenset("c")},
        group_names=NAMES,
        policies=policies,
        resources=(PRINTER,),
    )
    return replace(plain, **changes)


def drawn(snapshot: Snapshot, focus: str = "", most: int = 500) -> Graph:
    mesh = Mesh(snapshot, NOW)
    return graph(mesh, subject_with(snapshot, focus) if focus else None, most)


def only(found: Graph) -> Edge:
    [edge] = found.edges
    return edge


def test_an_edge_says_who_may_begin_what_with_whom_by_which_rule():
    web = rule("r", side("staff"), side("servers", "lan"), protocol="tcp",
               ports=(443, 80), bidirectional=False)  # fmt: skip
    found = drawn(account(web))
    edge = only(found)
    assert (edge.rule, edge.policy.name, edge.effect) == ("r", "via r", "accept")
    assert (edge.sources, edge.destinations) == (("staff",), ("lan", "servers"))
    assert (edge.traffic, edge.state) == ("TCP 80 and 443", "in_force")
    assert not edge.bidirectional
    counts = {end.name: (end.peers, end.resources) for end in found.nodes}
    of_peers = {"Staff": (2, 0), "Servers": (1, 0), "None": (0, 0)}
    assert counts == of_peers | {"LAN": (0, 1), "printer": (0, 1)}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"enabled": False}, "disabled"),
        ({"policy_enabled": False}, "disabled"),
        ({"checks": ("new",)}, "nobody"),
        ({"accept": False}, "in_force"),
    ],
)
def test_a_rule_that_does_nothing_now_says_why(changes: dict[str, Any], state: str):
    new = PostureCheck("new", {"nb_version_check": {"min_version": "99.0"}}, "new")
    made = rule("r", side("staff"), side("servers"), **changes)
    edge = only(drawn(account(made, checks={"new": new})))
    assert edge.state == state
    assert edge.effect == ("drop" if "accept" in changes else "accept")
    assert edge.checks == (("new",) if "checks" in changes else ())


def test_groups_that_stand_for_resources_or_routes_are_somebody_while_enabled():
    for group in ("lan", "none"):
        made = account(rule("r", side("staff"), side(group)), routes=(OFFICE,))
        assert only(drawn(made)).state == "in_force"
    unrouted = account(rule("r", side("staff"), side("none")))
    assert only(drawn(unrouted)).state == "nobody"
    everything = {
        "resources": (replace(PRINTER, enabled=False),),
        "routes": (replace(OFFICE, enabled=False),),
    }
    for target in (side("lan"), side("none"), RuleSide(resource="s")):
        found = drawn(account(rule("r", side("staff"), target), **everything))
        assert only(found).state == "nobody"
        assert {(end.resources, end.routes) for end in found.nodes} == {(0, 0)}


@pytest.mark.parametrize(
    ("focus", "rules", "own"),
    [
        ("staff", ["x", "z"], {"staff", "servers", "s"}),
        ("a", ["x", "z"], {"staff", "servers", "s"}),
        ("s", ["y", "z"], {"servers", "lan", "staff", "s"}),
        ("p-y", ["y"], {"servers", "lan"}),
        ("none", [], set()),
    ],
)
def test_a_focus_leaves_only_what_is_about_it(
    focus: str, rules: list[str], own: set[str]
):
    snapshot = account(
        rule("x", side("staff", "none2"), side("servers")),
        rule("y", side("servers"), side("lan")),
        rule("z", side("staff"), RuleSide(resource="s")),
    )
    found = drawn(snapshot, focus)
    assert [edge.rule for edge in found.edges] == rules
    assert {end.id for end in found.nodes} == own


def crowd(groups: int, rules: int) -> Snapshot:
    names = {f"g{n:05}" + "x" * 15: f"group number {n}" for n in range(groups)}
    ids = list(names)
    pairs = [(ids[n * 2 % groups], ids[(n * 2 + 1) % groups]) for n in range(rules)]
    made = [rule(f"r{n:019}", side(a), side(b)) for n, (a, b) in enumerate(pairs)]
    return account(*made, group_names=names)


def test_at_most_five_hundred_nodes_are_drawn_and_the_others_counted():
    found = drawn(crowd(groups=1000, rules=300))
    assert len(found.nodes) + len(found.edges) == 500
    assert found.left_out["rule"] == 300 - len(found.edges) > 0
    assert len(found.nodes) + found.left_out["group"] == 1000
    assert len(orjson.dumps(GraphSerializer.plain(found))) < 300_000


def test_rules_come_before_groups_that_none_names():
    found = drawn(crowd(groups=1000, rules=20), most=100)
    assert len(found.edges) == 20
    assert found.left_out == {"group": 920, "resource": 1}


@settings(max_examples=60, deadline=None)
@given(snapshots(), st.data())
def test_whoever_reaches_a_peer_has_an_edge_that_says_so(
    snapshot: Snapshot, data: st.DataObject
):
    mesh = Mesh(snapshot, NOW)
    source, target = data.draw(st.permutations(sorted(snapshot.peers)))[:2]
    to = Destination("peer", target, snapshot.peers[target].ip)
    found = verdict(mesh, source, to, TCP)
    edges = {e.rule: e for e in graph(mesh, subject_with(snapshot, source)).edges}
    for because in found.because:
        edge = edges[because.rule_id]
        own = {source, *mesh.membership.groups_of(source)}
        other = {target, *mesh.membership.groups_of(target)}
        begins = own & set(edge.sources) and other & set(edge.destinations)
        back = own & set(edge.destinations) and other & set(edge.sources)
        assert begins or (edge.bidirectional and back)
        assert (edge.state, edge.effect) == ("in_force", because.effect)


def test_an_ssh_rule_without_ports_tells_what_it_opens_on_peers_and_on_routes():
    ssh = Rule("ssh", side("staff"), side("lan"), protocol="netbird-ssh")
    assert rule_words(ssh) == "SSH (TCP; TCP 22 on routes)"
    plain = Rule("ssh", side("staff"), side("lan"), protocol="tcp", ports=(22,))
    assert rule_words(plain) == "TCP 22"


def found(snapshot: Snapshot, peer_id: str) -> Neighbours:
    told = neighbours(Mesh(snapshot, NOW), peer_id)
    assert told
    return told


def test_a_peer_reaches_the_other_sides_of_rules_it_is_a_source_of():
    https = {"protocol": "tcp", "ports": (443,), "bidirectional": False}
    snapshot = account(rule("web", side("staff"), side("servers", "lan"), **https))
    [way] = found(snapshot, "a").reaches
    assert (way.policy.name, way.traffic) == ("via web", "TCP 443")
    assert (way.protocol, way.port) == ("tcp", 443)
    named = {h.group.name: [s.name for s in h.some] for h in way.others if h.group}
    assert named == {"Servers": ["c"], "LAN": ["printer"]}
    assert found(snapshot, "a").reached_by == ()
    [back] = found(snapshot, "c").reached_by
    assert [s.id for s in back.others[0].some] == ["a", "b"]
    assert found(snapshot, "c").reaches == ()


def test_where_either_may_begin_both_reach_and_are_reached():
    snapshot = account(rule("any", side("staff"), side("servers")))
    for one in "ac":
        told = found(snapshot, one)
        assert len(told.reaches) == len(told.reached_by) == 1


def test_a_rule_within_one_group_is_told_once():
    snapshot = account(rule("office", side("staff"), side("staff")))
    told = found(snapshot, "a")
    assert len(told.reaches) == len(told.reached_by) == 1
    assert [s.id for s in told.reached_by[0].others[0].some] == ["b"]


def test_what_is_routed_begins_nothing_and_is_no_destination_as_a_source():
    snapshot = account(rule("r", side("staff", "lan"), side("servers", "lan")))
    groups = [
        [held.group.name for held in way.others if held.group]
        for ways in found(snapshot, "a") + found(snapshot, "c")
        for way in ways
    ]
    assert groups == [["LAN", "Servers"], ["Servers"], ["Staff"], ["Staff"]]


def test_a_resource_that_is_disabled_is_reached_by_nobody():
    plain = account(rule("r", side("staff"), side("lan")))
    off = tuple(replace(each, enabled=False) for each in plain.resources)
    assert found(plain, "a").reaches
    assert found(replace(plain, resources=off), "a").reaches == ()


def test_who_fails_a_posture_check_reaches_nobody_and_is_named_to_nobody():
    new = PostureCheck("new", {"nb_version_check": {"min_version": "99.0"}}, "new")
    plain = rule("r", side("staff"), side("servers"), checks=("new",))
    snapshot = account(plain, checks={"new": new})
    assert found(snapshot, "a") == found(snapshot, "c") == Neighbours((), ())


def test_of_many_some_are_named_and_all_counted():
    crowd = {
        f"p{n:02}": machine(f"p{n:02}", f"p{n}", f"100.64.1.{n}") for n in range(9)
    }
    plain = account(rule("r", side("staff"), RuleSide(groups=frozenset({"crowd"}))))
    snapshot = replace(
        plain,
        peers={**plain.peers, **crowd},
        members={**plain.members, "crowd": frozenset(crowd)},
    )
    [held] = found(snapshot, "a").reaches[0].others
    assert (len(held.some), held.number, held.more) == (NAMED, 9, 9 - NAMED)


@settings(max_examples=40, deadline=None)
@given(snapshots(), st.data())
def test_what_a_verdict_allows_is_told_of_both_ends(
    snapshot: Snapshot, data: st.DataObject
):
    mesh = Mesh(snapshot, NOW)
    one, other = data.draw(st.permutations(sorted(snapshot.peers)))[:2]
    to = Destination("peer", other, snapshot.peers[other].ip)
    rules = {b.policy for b in verdict(mesh, one, to, Traffic("tcp", 22)).because}
    for peer_id, named, away in ((one, "reaches", other), (other, "reached_by", one)):
        told = neighbours(mesh, peer_id)
        ways = getattr(told, named) if told else ()
        meeting = {
            way.policy
            for way in ways
            for held in way.others
            if held.more or away in {subject.id for subject in held.some}
        }
        assert rules - {None} <= meeting


def between(before: Snapshot, after: Snapshot) -> dict[tuple[str, str], Shift]:
    found = shifts(Mesh(before, NOW), Mesh(after, NOW))
    assert not found.left_out
    return {(each.source.name, each.destination.name): each for each in found.pairs}


def web(id_: str = "web", **changes: Any) -> Policy:
    plain = {"protocol": "tcp", "ports": (22, 443), "bidirectional": False}
    return rule(id_, side("staff"), side("servers"), **plain | changes)


def test_a_policy_that_goes_loses_what_it_let_its_groups_begin():
    [(pair, shift)] = between(account(web()), account()).items()
    assert pair == ("Staff", "Servers")
    assert (shift.lost, shift.lost_pairs) == ("TCP 22 and 443", 2)
    assert (shift.gained, shift.gained_pairs) == ("", 0)


def test_what_another_policy_lets_through_as_well_is_not_lost():
    other = rule("ssh", side("staff"), side("servers"), protocol="tcp", ports=(22,))
    [shift] = between(account(web(), other), account(other)).values()
    assert shift.lost == "TCP 443"
    every = rule("any", side("staff"), side("servers"))
    assert between(account(web(), every), account(every)) == {}


def test_a_rule_that_drops_takes_away_and_gives_back():
    drop = web("no", accept=False, ports=(22,))
    there, gone = account(web(), drop), account(web())
    assert between(there, gone)["Staff", "Servers"].gained == "TCP 22"
    assert between(gone, there)["Staff", "Servers"].lost == "TCP 22"


def test_a_rule_that_becomes_one_way_loses_the_way_back():
    both = account(web(bidirectional=True))
    assert list(between(both, account(web()))) == [("Servers", "Staff")]


def test_a_new_member_gains_and_who_leaves_loses():
    before = account(web())
    plain = replace(before, members={**before.members, "staff": frozenset("a")})
    [shift] = between(plain, before).values()
    assert (shift.gained_pairs, shift.lost_pairs) == (1, 0)
    new = {**before.peers, "d": machine("d", "d", "100.64.0.9")}
    staff = {**before.members, "staff": frozenset("abd")}
    joined = replace(before, peers=new, members=staff)
    [shift] = between(before, joined).values()
    assert (shift.gained, shift.gained_pairs) == ("TCP 22 and 443", 1)


def test_what_is_routed_counts_as_a_destination_only():
    lan = rule("lan", side("staff"), side("lan"))
    [(pair, shift)] = between(account(), account(lan)).items()
    assert pair == ("Staff", "LAN")
    assert (shift.gained, shift.gained_pairs) == ("everything", 2)
    single = rule("one", side("staff"), RuleSide(resource="s"))
    assert ("Staff", "printer") in between(account(), account(single))


def test_ssh_without_ports_is_all_of_tcp_on_peers_and_port_22_behind_them():
    sides = side("staff"), side("servers", "lan")
    ssh = rule("ssh", *sides, protocol="netbird-ssh", bidirectional=False)
    found = between(account(), account(ssh))
    assert {pair[1]: shift.gained for pair, shift in found.items()} == {
        "Servers": "TCP",
        "LAN": "TCP 22",
    }
    drop = web("no", accept=False, ports=(443,))
    assert between(account(ssh), account(ssh, drop))["Staff", "Servers"].lost == (
        "TCP 443"
    )


def test_what_changes_nothing_is_no_shift():
    before = account(web())
    assert between(before, replace(before, group_names={"staff": "x"})) == {}
    assert between(account(), account(web(enabled=False))) == {}


def test_of_very_many_pairs_some_are_looked_at_and_the_others_counted():
    names = [f"g{n}" for n in range(20)]
    wide = account(rule("wide", side(*names, "staff"), side(*names, "servers")))
    found = shifts(Mesh(account(), NOW), Mesh(wide, NOW), most=10)
    # Both ways, and each pair of the twenty once.
    assert found.left_out == 21 * 21 + 41 - 10


def test_where_very_many_rules_overlap_fewer_pairs_are_looked_at():
    names = [f"g{n}" for n in range(10)]
    sides = side(*names, "staff"), side(*names, "servers")
    many = [rule(f"r{n}", *sides, protocol="tcp", ports=(n + 1,)) for n in range(300)]
    crowd = account(*many)
    crowd = replace(
        crowd, members={**dict.fromkeys(names, frozenset("abc")), **crowd.members}
    )
    found = shifts(Mesh(crowd, NOW), Mesh(account(), NOW))
    assert found.left_out > 0
    assert 0 < len(found.pairs) < MOST


@settings(max_examples=60, deadline=None)
@given(snapshots(), st.data())
def test_a_verdict_that_changes_is_told_of_a_pair_of_its_groups(
    drawn: Snapshot, data: st.DataObject
):
    peers = {
        id_: peer._replace(version="development") for id_, peer in drawn.peers.items()
    }
    before = replace(drawn, peers=peers)
    kept = tuple(policy for policy in before.policies if data.draw(st.booleans()))
    after = replace(before, policies=kept)
    meshes = Mesh(before, NOW), Mesh(after, NOW)
    found = shifts(*meshes, most=100_000).pairs
    one, other = data.draw(st.permutations(sorted(peers)))[:2]
    to = Destination("peer", other, peers[other].ip)
    traffic = Traffic("tcp", data.draw(st.sampled_from([22, 80, 443])))
    was, is_ = (verdict(mesh, one, to, traffic).allowed for mesh in meshes)
    groups = [{id_, *meshes[0].membership.groups_of(id_)} for id_ in (one, other)]
    between_them = [
        each
        for each in found
        if each.source.id in groups[0] and each.destination.id in groups[1]
    ]
    if was and not is_:
        assert any(each.lost_pairs for each in between_them)
    elif is_ and not was:
        assert any(each.gained_pairs for each in between_them)
