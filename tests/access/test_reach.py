"""Which peers see each other."""

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.access.reach import (
    Cause,
    Policy,
    ReachFacts,
    ReachGraph,
    Resource,
    Route,
    Router,
    Rule,
    RuleSide,
)
from meshmgmt.access.visibility import Visibility, causes

MEMBERS = {"dev": {"ann", "bob"}, "ops": {"bob", "cy"}, "gw": {"gate"}, "void": set()}


def groups(*ids: str) -> RuleSide:
    return RuleSide(groups=frozenset(ids))


def policy(*rules: Rule, enabled: bool = True) -> Policy:
    return Policy(id="p", name="Policy", rules=rules, enabled=enabled)


SHOWN = {"ann": "a", "bob": "bb", "cy": "c", "gate": ""}


def seen(facts: ReachFacts, peer: str) -> Mapping[str, Cause]:
    graph = ReachGraph(facts)
    own = [group for group, members in MEMBERS.items() if peer in members]
    found = causes(graph, MEMBERS, peer, own)
    things = Visibility(graph, MEMBERS, SHOWN).seen_from(peer, own)
    assert "".join(things) == "".join(SHOWN[other] for other in sorted(found))
    assert len(things) == len(tuple(things))
    return found


def test_a_rule_shows_both_sides_to_each_other() -> None:
    facts = ReachFacts(policies=(policy(Rule(groups("dev"), groups("ops"))),))
    assert set(seen(facts, "ann")) == {"bob", "cy"}
    assert set(seen(facts, "cy")) == {"ann", "bob"}
    assert set(seen(facts, "bob")) == {"ann", "cy"}
    assert set(seen(facts, "gate")) == set()


def test_members_of_one_side_do_not_see_each_other() -> None:
    facts = ReachFacts(policies=(policy(Rule(groups("dev"), groups("gw"))),))
    assert set(seen(facts, "ann")) == {"gate"}


def test_disabled_and_drop_rules_show_nothing() -> None:
    rule = Rule(groups("dev"), groups("ops"))
    for changed in (
        policy(replace(rule, enabled=False)),
        policy(replace(rule, accept=False)),
        policy(rule, enabled=False),
    ):
        assert not seen(ReachFacts(policies=(changed,)), "ann")


def test_a_drop_rule_does_not_hide() -> None:
    rule = Rule(groups("dev"), groups("ops"))
    facts = ReachFacts(policies=(policy(replace(rule, accept=False), rule),))
    assert set(seen(facts, "ann")) == {"bob", "cy"}


def test_a_single_peer_may_be_a_side() -> None:
    facts = ReachFacts(policies=(policy(Rule(RuleSide(peer="gate"), groups("dev"))),))
    assert set(seen(facts, "gate")) == {"ann", "bob"}
    assert set(seen(facts, "ann")) == {"gate"}
    assert seen(facts, "ann")["gate"] == Cause("policy", "p", "Policy")


def test_a_route_shows_its_routing_peers_and_its_users() -> None:
    by_peer = Route(id="r", name="office", groups=frozenset({"dev"}), peer="gate")
    by_group = replace(by_peer, peer=None, peer_groups=frozenset({"gw"}))
    for route in (by_peer, by_group):
        facts = ReachFacts(routes=(route,))
        assert seen(facts, "ann") == {"gate": Cause("route", "r", "office")}
        assert set(seen(facts, "gate")) == {"ann", "bob"}
        assert not seen(ReachFacts(routes=(replace(route, enabled=False),)), "ann")


def test_a_router_is_seen_by_those_who_may_use_its_network() -> None:
    router = Router(id="x", network="n", peer="gate")
    resource = Resource(id="db", network="n", groups=frozenset({"void"}))
    by_group = policy(Rule(groups("dev"), groups("void")))
    by_id = policy(Rule(groups("dev"), RuleSide(resource="db")))
    backwards = policy(Rule(RuleSide(resource="db"), groups("dev")))
    for rules in (by_group, by_id, backwards):
        facts = ReachFacts(policies=(rules,), routers=(router,), resources=(resource,))
        assert set(seen(facts, "ann")) == {"gate"}
        assert set(seen(facts, "gate")) == {"ann", "bob"}
        assert not seen(facts, "cy")
        for off in (
            replace(facts, routers=(replace(router, enabled=False),)),
            replace(facts, resources=(replace(resource, enabled=False),)),
            replace(facts, routers=(replace(router, network="other"),)),
        ):
            assert not seen(off, "ann")


def test_the_first_object_in_order_is_the_cause() -> None:
    rule = Rule(groups("dev"), groups("ops"))
    first, second = (replace(policy(rule), id=id_) for id_ in ("p1", "p2"))
    assert seen(ReachFacts(policies=(first, second)), "ann")["cy"].id == "p1"


group_sets = st.frozensets(st.sampled_from(sorted(MEMBERS)), max_size=2)
sides = st.one_of(
    group_sets.map(lambda ids: RuleSide(groups=ids)),
    st.sampled_from(["ann", "bob", "cy", "gate"]).map(lambda p: RuleSide(peer=p)),
)
rules = st.builds(Rule, sides, sides, st.booleans(), st.booleans())
facts_strategy = st.builds(
    ReachFacts,
    policies=st.lists(
        st.builds(
            Policy,
            st.sampled_from("pq"),
            st.just("n"),
            st.lists(rules, max_size=3).map(tuple),
            st.booleans(),
        ),
        max_size=3,
    ).map(tuple),
    routes=st.lists(
        st.builds(
            Route,
            st.just("r"),
            st.just("n"),
            group_sets,
            st.sampled_from(["gate", None]),
            group_sets,
            st.booleans(),
        ),
        max_size=2,
    ).map(tuple),
)


def naive_sees(facts: ReachFacts, one: str, other: str) -> bool:
    def on(side_groups: frozenset[str], side_peer: str | None, peer: str) -> bool:
        return peer == side_peer or any(peer in MEMBERS[g] for g in side_groups)

    pairs = [
        (
            (rule.sources.groups, rule.sources.peer),
            (rule.destinations.groups, rule.destinations.peer),
        )
        for item in facts.policies
        for rule in item.rules
        if item.enabled and rule.enabled and rule.accept
    ] + [
        ((route.peer_groups, route.peer), (route.groups, None))
        for route in facts.routes
        if route.enabled
    ]
    return one != other and any(
        (on(*left, one) and on(*right, other)) or (on(*left, other) and on(*right, one))
        for left, right in pairs
    )


@given(facts_strategy)
def test_reach_agrees_with_a_naive_reading_and_is_symmetric(facts: ReachFacts) -> None:
    everybody = ["ann", "bob", "cy", "gate"]
    for one in everybody:
        expected = {other for other in everybody if naive_sees(facts, one, other)}
        assert set(seen(facts, one)) == expected


class CountedMembers(dict[str, set[str]]):
    """Members that count how often they are asked for."""

    asked = 0

    def get(self, group: str, default: object = None) -> set[str]:
        self.asked += 1
        return super().get(group, set())


def test_all_peers_share_the_look_up_of_members() -> None:
    members = CountedMembers(
        {f"g{g}": {f"p{(g * 10 + i) % 500}" for i in range(30)} for g in range(50)}
    )
    rules = tuple(
        Rule(groups(f"g{n % 50}"), groups(f"g{(n * 7) % 50}")) for n in range(100)
    )
    shown = {f"p{number}": ("name",) for number in range(500)}
    graph = ReachGraph(ReachFacts(policies=(policy(*rules),)))
    visibility = Visibility(graph, members, shown)
    for peer in shown:
        own = [group for group, ids in members.items() if peer in ids]
        assert len(visibility.seen_from(peer, own)) > 0
    assert members.asked <= len(members)


def test_a_peer_that_shows_nothing_sees_and_one_that_is_gone_is_not_seen() -> None:
    rule = Rule(groups("dev", "gw"), groups("ops"))
    graph = ReachGraph(ReachFacts(policies=(policy(rule),)))
    visibility = Visibility(graph, MEMBERS, {"cy": ("first", "second")})
    assert visibility.seen_from("gate", ["gw"]) == ("first", "second")
    assert visibility.seen_from("cy", ["ops"]) == ()
    assert Visibility(graph, MEMBERS, {}).seen_from("gate", ["gw"]) == ()


def test_targets_name_the_groups_whose_members_are_needed() -> None:
    graph = ReachGraph(
        ReachFacts(policies=(policy(Rule(groups("dev"), groups("ops", "gw"))),))
    )
    [target] = graph.targets("ann", ["dev"])
    assert target.side.groups == {"ops", "gw"}
    assert graph.targets("ann", ["void"]) == []
