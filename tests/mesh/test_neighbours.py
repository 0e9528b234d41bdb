"""Whom a peer reaches and who reaches it, by rules on groups."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from meshmgmt.mesh import Mesh
from meshmgmt.mesh.graph import NAMED, Neighbours, neighbours
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.mesh.snapshot import PostureCheck, RuleSide, Snapshot
from tests.explain.pure import machine
from tests.mesh.meshes import NOW, side, snapshots
from tests.mesh.test_graph import account, rule


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
