"""Who may begin what with whom, drawn on groups."""

from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshmgmt.explain.api.serializers import GraphSerializer
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.graph import Edge, Graph, graph, subject_with
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.mesh.reach.traffic import rule_words
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
    assert counts == {
        "Staff": (2, 0),
        "Servers": (1, 0),
        "LAN": (0, 1),
        "None": (0, 0),
        "printer": (0, 1),
    }


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
        counts = {(end.resources, end.routes) for end in found.nodes}
        assert counts == {(0, 0)}


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
    rules_out = found.left_out["rule"]
    assert rules_out == 300 - len(found.edges) > 0
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
