"""What one peer gets, and why."""

import json
from dataclasses import replace

import pytest

from dns.effective.compute import Configurator, peer_config
from dns.effective.result import PeerDns, to_json
from dns.effective.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Record,
    Snapshot,
    Zone,
)
from meshmgmt.access.reach import Policy, ReachFacts, Rule, RuleSide

DEV, OPS = frozenset({"dev"}), frozenset({"ops"})
ANN = Peer("p1", "ann", "ann", "100.64.0.1", DEV, ipv6="fd00::1")
BOB = Peer("p2", "bob", "bob", "100.64.0.2", OPS, ipv6="fd00::2", extra_labels=("db",))
CY = Peer("p3", "cy", "cy", "100.64.0.3", OPS)
FAR = Peer("p4", "far", "far", "100.64.0.4", frozenset())
ZONE = Zone("z1", "Corp", "corp.lan", DEV, (Record("a.corp.lan", "A", "1.2.3.4", 0),))
SERVERS = NameserverGroup(
    "n1", "Office", (Nameserver("10.0.0.53"),), DEV, domains=("corp.lan",)
)


def account(
    zones: tuple[Zone, ...] = (ZONE,),
    groups: tuple[NameserverGroup, ...] = (SERVERS,),
) -> Snapshot:
    rule = Rule(RuleSide(groups=DEV), RuleSide(groups=OPS))
    return Snapshot(
        dns_domain="mesh.lan",
        peers={peer.id: peer for peer in (ANN, BOB, CY, FAR)},
        members={"dev": ["p1"], "ops": ["p2", "p3"]},
        zones=zones,
        nameserver_groups=groups,
        group_names={"dev": "Developers", "ops": "Operators"},
        reach=ReachFacts(policies=(Policy("pol", "Dev to ops", (rule,)),)),
    )


def reasons_out(config: PeerDns) -> dict[str, list[str]]:
    return {
        excluded.name: [reason.code for reason in excluded.reasons]
        for excluded in config.excluded
    }


def own_records(config: PeerDns) -> list[tuple[str, str, str]]:
    [zone] = [zone for zone in config.zones if zone.kind == "peers"]
    assert {record.ttl for record in zone.records} == {300}
    return [(record.name, record.type, record.content) for record in zone.records]


def test_a_peer_gets_the_zones_and_groups_it_shares_a_group_with() -> None:
    config = peer_config(account(), "p1")
    assert config.managed
    assert [zone.domain for zone in config.zones] == ["mesh.lan", "corp.lan"]
    assert config.zones[0].authoritative
    assert not config.zones[1].authoritative
    assert [group.name for group in config.nameserver_groups] == ["Office"]
    assert config.zones[1].reason.text == "the peer is in group Developers"
    assert config.nameserver_groups[0].reason.code == "group"
    assert config.excluded == ()


def test_the_own_zone_holds_the_peer_and_those_it_may_reach() -> None:
    config = peer_config(account(), "p1")
    assert own_records(config) == [
        ("ann.mesh.lan", "A", "100.64.0.1"),
        ("ann.mesh.lan", "AAAA", "fd00::1"),
        ("bob.mesh.lan", "A", "100.64.0.2"),
        ("db.mesh.lan", "A", "100.64.0.2"),
        ("bob.mesh.lan", "AAAA", "fd00::2"),
        ("db.mesh.lan", "AAAA", "fd00::2"),
        ("cy.mesh.lan", "A", "100.64.0.3"),
    ]
    assert [peer.reason.text for peer in config.visible_peers] == [
        "it is the peer itself",
        "policy Dev to ops lets the two peers meet",
        "policy Dev to ops lets the two peers meet",
    ]


def test_a_peer_without_ipv6_gets_no_ipv6_names() -> None:
    assert own_records(peer_config(account(), "p3")) == [
        ("cy.mesh.lan", "A", "100.64.0.3"),
        ("ann.mesh.lan", "A", "100.64.0.1"),
    ]


def test_a_peer_without_reach_still_knows_itself() -> None:
    config = peer_config(account(), "p4")
    assert own_records(config) == [("far.mesh.lan", "A", "100.64.0.4")]
    assert [s.domain for s in config.search_domains] == ["mesh.lan"]


def test_without_a_peer_domain_there_is_no_own_zone() -> None:
    config = peer_config(replace(account(), dns_domain=""), "p1")
    assert [zone.domain for zone in config.zones] == ["corp.lan"]
    assert len(config.visible_peers) == 3


def test_what_is_out_says_every_reason() -> None:
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
    config = peer_config(account(zones, groups), "p1")
    assert [zone.id for zone in config.zones] == ["", "z1"]
    assert config.nameserver_groups == ()
    assert reasons_out(config) == {
        "Off": ["disabled"],
        "Empty": ["empty_zone"],
        "Other": ["no_shared_group"],
        "All": ["disabled", "empty_zone", "no_shared_group"],
        "NS off": ["disabled"],
        "NS other": ["no_shared_group"],
        "NS self": ["own_nameserver"],
        "NS self 6": ["own_nameserver"],
    }


def test_one_disabled_group_makes_a_peer_unmanaged() -> None:
    both = ANN._replace(groups=DEV | OPS)
    base = account()
    snapshot = replace(base, disabled_groups=OPS, peers={**base.peers, "p1": both})
    config = peer_config(snapshot, "p1")
    assert not config.managed
    assert config.reason.text == "DNS management is disabled for group Operators"
    assert (config.zones, config.nameserver_groups) == ((), ())
    assert (config.search_domains, config.visible_peers) == ((), ())
    assert reasons_out(config) == {
        "Corp": ["management_disabled"],
        "Office": ["management_disabled"],
    }
    assert peer_config(snapshot, "p4").managed


def test_a_loader_may_leave_out_records_of_zones_the_peer_does_not_get() -> None:
    zone = replace(ZONE, groups=OPS, records=(), record_count=7)
    assert reasons_out(peer_config(account((zone,)), "p1"))["Corp"] == [
        "no_shared_group"
    ]


def test_a_rule_may_name_a_peer_that_is_gone() -> None:
    rule = Rule(RuleSide(peer="gone"), RuleSide(groups=DEV))
    snapshot = replace(
        account(), reach=ReachFacts(policies=(Policy("p", "P", (rule,)),))
    )
    assert [p.id for p in peer_config(snapshot, "p1").visible_peers] == ["p1"]


def test_an_unknown_peer_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        peer_config(account(), "nobody")


def test_one_configurator_gives_every_peer_what_it_gets_alone() -> None:
    snapshot = account()
    configurator = Configurator(snapshot)
    for peer_id in snapshot.peers:
        assert configurator.config(peer_id) == peer_config(snapshot, peer_id)


def test_json_form_is_plain_data() -> None:
    snapshot = account((ZONE, replace(ZONE, id="z2", enabled=False)))
    config = peer_config(snapshot, "p1")
    data = json.loads(json.dumps(to_json(config)))
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


def test_peer_that_waits_for_approval_gets_nothing_and_is_unseen() -> None:
    waiting = BOB._replace(approved=False)
    snapshot = replace(account(), peers={"p1": ANN, "p2": waiting, "p3": CY})
    mine = peer_config(snapshot, "p2")
    assert (mine.managed, mine.reason.code) == (False, "approval_pending")
    assert [*mine.zones, *mine.nameserver_groups, *mine.search_domains] == []
    assert reasons_out(mine) == {
        "Corp": ["approval_pending", "no_shared_group"],
        "Office": ["approval_pending", "no_shared_group"],
    }
    assert [peer.name for peer in peer_config(snapshot, "p1").visible_peers] == [
        "ann",
        "cy",
    ]
