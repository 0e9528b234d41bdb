"""Which peers see each other, and by what they know each other's names."""

from dataclasses import replace
from typing import Any

import pytest

from meshmgmt.mesh.extent import extent
from meshmgmt.mesh.reasons import Reason
from meshmgmt.mesh.snapshot import (
    Policy,
    Resource,
    Route,
    Router,
    Rule,
    RuleSide,
    Snapshot,
)
from tests.explain.pure import config, machine, mesh, placed, policy
from tests.mesh.meshes import side

GROUPS = {"ann": {"dev"}, "bob": {"dev", "ops"}, "cy": {"ops"}, "gate": {"gw"}}


def account(*policies: Policy, **parts: Any) -> Snapshot:
    """Ann and Bob develop, Bob and Cy operate, Gate is a gateway."""
    peers = {
        machine(name, name, f"100.64.0.{number}"): frozenset(groups)
        for number, (name, groups) in enumerate(GROUPS.items(), 1)
    }
    return replace(placed(peers, *policies), **parts)


DEV_TO_OPS = policy("Policy", (side("dev"), side("ops")))


def changed(policy: Policy, **values: Any) -> Policy:
    """The policy with other values of its rules."""
    return replace(
        policy, rules=tuple(replace(rule, **values) for rule in policy.rules)
    )


def seen(snapshot: Snapshot, peer_id: str) -> frozenset[str]:
    return mesh(snapshot).network_map(peer_id).remotes.ids


def known(snapshot: Snapshot, peer_id: str) -> dict[str, Reason]:
    """Whose names a peer knows besides its own, and by what."""
    _, *others = config(snapshot, peer_id).visible_peers
    names = mesh(snapshot).network_map(peer_id).names.ids
    assert names == {other.id for other in others}
    return {other.id: other.reason for other in others}


def test_a_rule_shows_both_sides_to_each_other_and_no_side_to_itself():
    found = account(DEV_TO_OPS)
    assert {name: seen(found, name) for name in GROUPS} == {
        "ann": {"bob", "cy"},
        "bob": {"ann", "cy"},
        "cy": {"ann", "bob"},
        "gate": set(),
    }
    to_gateways = account(policy("P", (side("dev"), side("gw"))))
    assert seen(to_gateways, "ann") == {"gate"}


@pytest.mark.parametrize(
    "off",
    [
        changed(DEV_TO_OPS, enabled=False),
        changed(DEV_TO_OPS, accept=False),
        replace(DEV_TO_OPS, enabled=False),
    ],
)
def test_disabled_and_drop_rules_show_nothing(off: Policy):
    assert not seen(account(off), "ann")
    assert not known(account(off), "ann")


def test_a_drop_rule_does_not_hide():
    drop = replace(changed(DEV_TO_OPS, accept=False), id="first")
    assert seen(account(drop, DEV_TO_OPS), "ann") == {"bob", "cy"}


def test_a_single_peer_may_be_a_side():
    found = account(policy("Policy", (RuleSide(peer="gate"), side("dev"))))
    assert seen(found, "gate") == {"ann", "bob"}
    assert known(found, "ann") == {"gate": Reason("policy", ("Policy",))}


BY_PEER = Route("r", "office", frozenset({"dev"}), "10.0.0.0/8", peer="gate")
BY_GROUP = replace(BY_PEER, peer=None, peer_groups=frozenset({"gw"}))


@pytest.mark.parametrize("route", [BY_PEER, BY_GROUP])
def test_users_of_a_route_know_the_name_of_its_routing_peer_alone(route: Route):
    found = account(routes=(route,))
    assert known(found, "ann") == {"gate": Reason("route", ("office",))}
    for nobody in ("ann", "gate"):
        assert not seen(found, nobody)
    assert not known(found, "gate")
    assert not known(found, "cy")
    off = account(routes=(replace(route, enabled=False),))
    assert not known(off, "ann")


def test_a_router_is_seen_but_not_named_by_those_who_may_use_its_network():
    router = Router("x", "n", peer="gate")
    resource = Resource("db", "n", "db", "10.0.0.1/32", groups=frozenset({"void"}))
    for target in (side("void"), RuleSide(resource="db")):
        found = account(
            policy("P", (side("dev"), target)), routers=(router,), resources=(resource,)
        )
        assert seen(found, "ann") == {"gate"}
        assert seen(found, "gate") == {"ann", "bob"}
        assert not seen(found, "cy")
        assert not known(found, "ann")
        for off in (
            {"routers": (replace(router, enabled=False),)},
            {"resources": (replace(resource, enabled=False),)},
            {"routers": (replace(router, network="other"),)},
        ):
            assert not seen(replace(found, **off), "ann")


def test_a_rule_from_a_resource_leads_nobody_to_its_routers():
    found = account(
        policy("P", (RuleSide(resource="db"), side("dev"))),
        routers=(Router("x", "n", peer="gate"),),
        resources=(Resource("db", "n", "db", "10.0.0.1/32"),),
    )
    assert not seen(found, "ann")
    assert not seen(found, "gate")


def test_the_first_object_in_order_is_the_reason():
    first, second = (replace(DEV_TO_OPS, id=id_, name=id_) for id_ in ("p1", "p2"))
    route = Route("r", "office", frozenset({"dev"}), "10.0.0.0/8", peer="cy")
    found = account(first, second, routes=(route,))
    assert known(found, "ann")["cy"] == Reason("policy", ("p1",))


def test_peers_of_the_same_sides_share_what_they_see():
    peers = {
        machine(f"p{n}", f"p{n}", f"10.0.{n // 250}.{n % 250}"): frozenset(
            {f"g{n % 5}", f"h{n % 7}"}
        )
        for n in range(500)
    }
    rules = [(side(f"g{n % 5}"), side(f"h{n % 7}")) for n in range(35)]
    whole = mesh(placed(peers, policy("All", *rules)))
    sides = {
        id(side)
        for entry in whole.policies.rules
        for side in (entry.sources, entry.destinations)
    }
    assert len(sides) == 5 + 7
    for peer_id in whole.snapshot.peers:
        assert len(whole.network_map(peer_id).remotes) == len(peers) - 1


def test_who_is_gone_is_not_seen_and_no_names_are_needed_to_see():
    rule = Rule("r", side("dev", "gw"), RuleSide(peer="gone"))
    to_cy = policy("P", (side("dev", "gw"), side("ops")))
    found = account(Policy("q", (rule,)), to_cy)
    assert seen(found, "gate") == {"bob", "cy"}
    without = {id_: peer for id_, peer in found.peers.items() if id_ != "bob"}
    assert seen(replace(found, peers=without), "gate") == {"cy"}
    nameless = replace(found, settings=replace(found.settings, dns_domain=""))
    assert known(nameless, "gate").keys() == {"bob", "cy"}
    assert config(nameless, "gate").zones == ()


def test_extent_names_the_groups_whose_members_are_needed():
    found = account(policy("P", (side("dev"), side("ops", "gw"))))
    bare = replace(found, peers={}, members={})
    near = extent(bare, "ann", frozenset({"dev"}))
    assert near.groups == {"ops", "gw"}
    assert not near.peers
    assert not any(extent(bare, "ann", frozenset({"void"})))
