"""Which pairs of groups reach each other otherwise after a change."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from meshmgmt.mesh import Mesh
from meshmgmt.mesh.reach import Destination, Traffic, verdict
from meshmgmt.mesh.shifts import MOST, Shift, shifts
from meshmgmt.mesh.snapshot import Policy, RuleSide, Snapshot
from tests.explain.pure import machine
from tests.mesh.meshes import NOW, side, snapshots
from tests.mesh.test_graph import account, rule

TCP = [Traffic("tcp", port) for port in (22, 80, 443)]


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
    traffic = data.draw(st.sampled_from(TCP))
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
