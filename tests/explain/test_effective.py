"""What one peer gets, and why."""

import json
from dataclasses import replace
from typing import Any

import pytest

from meshmgmt.explain.api.serializers import PeerDnsSerializer
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.snapshot import (
    Nameserver,
    NameserverGroup,
    Record,
    RuleSide,
    Settings,
    Snapshot,
    User,
    Zone,
)
from tests.explain.pure import (
    NO_GROUPS,
    config,
    machine,
    mesh,
    placed,
    policy,
    with_peer,
)
from tests.mesh.meshes import NOW

DEV, OPS = frozenset({"dev"}), frozenset({"ops"})
ANN = machine("p1", "ann", "100.64.0.1", "fd00::1")
BOB = machine("p2", "bob", "100.64.0.2", "fd00::2", "db")
CY = machine("p3", "cy", "100.64.0.3")
FAR = machine("p4", "far", "100.64.0.4")
ZONE = Zone("z1", "Corp", "corp.lan", DEV, (Record("a.corp.lan", "A", "1.2.3.4", 0),))
SERVERS = NameserverGroup(
    "n1", "Office", (Nameserver("10.0.0.53"),), DEV, domains=("corp.lan",)
)


def account(
    zones: tuple[Zone, ...] = (ZONE,), groups: tuple[NameserverGroup, ...] = (SERVERS,)
) -> Snapshot:
    work = policy("Dev to ops", (RuleSide(groups=DEV), RuleSide(groups=OPS)))
    return replace(
        placed({ANN: DEV, BOB: OPS, CY: OPS, FAR: NO_GROUPS}, work),
        zones=zones,
        nameserver_groups=groups,
        group_names={"dev": "Developers", "ops": "Operators"},
    )


BOTH = ("Corp", "Office")


def reasons_out(found: PeerDns) -> dict[str, list[str]]:
    return {
        excluded.subject.name: [reason.code for reason in excluded.reasons]
        for excluded in found.excluded
    }


def own_records(found: PeerDns) -> list[tuple[str, str, str]]:
    [zone] = [zone for zone in found.zones if zone.kind == "peers"]
    assert {record.ttl for record in zone.records} == {300}
    return [(record.name, record.type, record.content) for record in zone.records]


def test_a_peer_gets_the_zones_and_groups_it_shares_a_group_with():
    got = config(account(), "p1")
    assert got.managed
    assert [zone.domain for zone in got.zones] == ["mesh.lan", "corp.lan"]
    assert got.zones[0].authoritative
    assert not got.zones[1].authoritative
    assert [each.group.name for each in got.nameserver_groups] == ["Office"]
    assert got.zones[1].reason.text == "the peer is in group Developers"
    assert got.nameserver_groups[0].reason.code == "group"
    assert got.excluded == []


def test_the_own_zone_holds_the_peer_and_those_it_may_reach():
    got = config(account(), "p1")
    assert own_records(got) == [
        ("ann.mesh.lan", "A", "100.64.0.1"),
        ("ann.mesh.lan", "AAAA", "fd00::1"),
        ("bob.mesh.lan", "A", "100.64.0.2"),
        ("bob.mesh.lan", "AAAA", "fd00::2"),
        ("db.mesh.lan", "A", "100.64.0.2"),
        ("db.mesh.lan", "AAAA", "fd00::2"),
        ("cy.mesh.lan", "A", "100.64.0.3"),
    ]
    meet = "policy Dev to ops lets the two peers meet"
    reasons = [peer.reason.text for peer in got.visible_peers]
    assert reasons == ["it is the peer itself", meet, meet]

    without_ipv6 = config(account(), "p3")
    assert own_records(without_ipv6) == [
        ("cy.mesh.lan", "A", "100.64.0.3"),
        ("ann.mesh.lan", "A", "100.64.0.1"),
    ]
    without_reach = config(account(), "p4")
    assert own_records(without_reach) == [("far.mesh.lan", "A", "100.64.0.4")]
    assert [s.domain for s in without_reach.search_domains] == ["mesh.lan"]


def test_without_a_peer_domain_there_is_no_own_zone():
    got = config(replace(account(), settings=Settings()), "p1")
    assert [zone.domain for zone in got.zones] == ["corp.lan"]
    assert len(got.visible_peers) == 3


def test_what_is_out_says_every_reason():
    zones = (
        ZONE,
        replace(ZONE, id="z2", name="Off", enabled=False),
        replace(ZONE, id="z3", name="Empty", records=()),
        replace(ZONE, id="z4", name="Other", groups=OPS),
        replace(ZONE, id="z5", name="All", enabled=False, records=(), groups=OPS),
    )
    groups = (
        replace(SERVERS, id="n2", name="NS off", enabled=False),
        replace(SERVERS, id="n3", name="NS other", groups=frozenset()),
        replace(SERVERS, id="n4", name="NS self", nameservers=(Nameserver(ANN.ip),)),
        replace(
            SERVERS,
            id="n5",
            name="NS self 6",
            nameservers=(Nameserver("1.1.1.1"), Nameserver("fd00::1")),
        ),
    )
    got = config(account(zones, groups), "p1")
    assert [zone.id for zone in got.zones] == ["", "z1"]
    assert got.nameserver_groups == ()
    assert reasons_out(got) == {
        "Off": ["disabled"],
        "Empty": ["empty_zone"],
        "Other": ["no_shared_group"],
        "All": ["disabled", "empty_zone", "no_shared_group"],
        "NS off": ["disabled"],
        "NS other": ["no_shared_group"],
        "NS self": ["own_nameserver"],
        "NS self 6": ["own_nameserver"],
    }


def test_one_disabled_group_makes_a_peer_unmanaged():
    base = account()
    members = {**base.members, "ops": base.members["ops"] | {"p1"}}
    snapshot = replace(base, unmanaged_groups=OPS, members=members)
    got = config(snapshot, "p1")
    assert not got.managed
    assert got.reason.text == "DNS management is disabled for group Operators"
    assert (got.zones, got.nameserver_groups, got.search_domains) == ((), (), ())
    assert got.visible_peers == []
    assert reasons_out(got) == {name: ["management_disabled"] for name in BOTH}
    assert config(snapshot, "p4").managed


def test_what_no_query_can_hold_is_not_sent():
    long = "x" * 300 + ".lan"
    unusable = replace(SERVERS, domains=(), unusable=(long,))
    zone = replace(ZONE, records=(), unusable=(Record(long, "A", "1.2.3.4", 0),))
    got = config(account((zone,), (unusable,)), "p1")
    assert reasons_out(got) == {"Corp": ["empty_zone"], "Office": ["no_usable_domain"]}
    half = replace(unusable, domains=("corp.lan",))
    assert config(account(groups=(half,)), "p1").servers == [half]


def test_a_loader_may_leave_out_records_of_zones_the_peer_does_not_get():
    zone = replace(ZONE, groups=OPS, records=(), has_records=True)
    assert reasons_out(config(account((zone,)), "p1"))["Corp"] == ["no_shared_group"]


def test_a_rule_may_name_a_peer_that_is_gone_but_no_question():
    gone = policy("P", (RuleSide(peer="gone"), RuleSide(groups=DEV)))
    got = config(replace(account(), policies=(gone,)), "p1")
    assert [peer.id for peer in got.visible_peers] == ["p1"]
    with pytest.raises(KeyError):
        config(account(), "nobody")


def test_one_mesh_gives_every_peer_what_it_gets_alone():
    shared = mesh(account())
    for peer_id in shared.snapshot.peers:
        got, alone = PeerDns(shared, peer_id), config(account(), peer_id)
        assert PeerDnsSerializer.plain(got) == PeerDnsSerializer.plain(alone)


def test_json_form_is_plain_data():
    snapshot = account((ZONE, replace(ZONE, id="z2", enabled=False)))
    got = config(snapshot, "p1")
    data = json.loads(json.dumps(PeerDnsSerializer.plain(got)))
    assert data["managed"] is True
    assert data["zones"][1]["records"] == [
        {"name": "a.corp.lan", "type": "A", "content": "1.2.3.4", "ttl": 0}
    ]
    assert data["nameserver_groups"][0]["nameservers"] == [
        {"ip": "10.0.0.53", "ns_type": "udp", "port": 53}
    ]
    assert data["visible_peers"][1]["reason"]["code"] == "policy"
    assert data["excluded"][0]["reasons"][0]["text"] == "it is disabled"
    assert data["object_count"] == 8 + 1 + 3


ABSENT: dict[str, dict[str, Any]] = {
    "approval_pending": {"approved": False},
    "login_expired": {"login_expired": True},
    "owner_blocked": {"user_id": "u"},
}


@pytest.mark.parametrize("code", ABSENT)
def test_peer_that_takes_no_part_gets_nothing_and_is_unseen(code: str):
    absent = with_peer(account(), "p2", **ABSENT[code])
    snapshot = replace(absent, users={"u": User("u", active=False, blocked=True)})
    mine = config(snapshot, "p2")
    assert (mine.managed, mine.reason.code) == (False, code)
    assert [*mine.zones, *mine.nameserver_groups, *mine.search_domains] == []
    assert mine.object_count == 0
    assert reasons_out(mine) == {name: [code, "no_shared_group"] for name in BOTH}
    assert [peer.name for peer in config(snapshot, "p1").visible_peers] == ["ann", "cy"]


def test_login_over_by_the_clock_counts_before_anybody_noted_it():
    facts = {"user_id": "u", "login_expires": True, "last_login": NOW - 61}
    late = with_peer(account(), "p2", **facts)
    snapshot = replace(late, settings=replace(late.settings, login_period=60))
    assert config(snapshot, "p2").reason.code == "login_expired"
    assert PeerDns(Mesh(snapshot, NOW - 2), "p2").managed
