"""Pairs of peers by whole sets, against the verdict about each pair."""

from dataclasses import replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from meshmgmt.mesh.between import alike, unmet
from meshmgmt.mesh.reach import PROTOCOLS, Destination, Traffic, Verdict, verdict
from meshmgmt.mesh.snapshot import Snapshot
from tests.explain.pure import machine
from tests.mesh.meshes import PEERS, Remembering, snapshots
from tests.mesh.test_reach import OFFICE, PLACES, account, meant

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
