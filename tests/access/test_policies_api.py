"""Policies over HTTP."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from meshmgmt.access.models import PostureCheck
from meshmgmt.access.rules import policies as policy_rules
from meshmgmt.core.ids import new_id
from meshmgmt.meshstate.loading import load, load_around
from tests.access.bodies import policy, route, rule
from tests.api_client import Api
from tests.factories import group_id, network, numbered, printer
from tests.people import api_as
from tests.resource_contract import (
    Answered,
    Body,
    Change,
    Fault,
    ResourceContract,
    Trail,
    ok,
)

PATH = "/api/policies"
SIDES = ("sources", "destinations")
LOCAL_USER = "a local user has 1 to 255 printable characters"


class TestPolicies(ResourceContract):
    path = PATH
    required = ("name", "rules")
    created_codes = ("policy.add", "rule.add")
    deleted_codes = ("rule.delete", "policy.delete")
    most_queries = 11

    def body(self, number: int = 1) -> Body:
        return policy(name=f"policy {number}")

    def as_sent(self, made: Body) -> Body:
        return made | {"rules": [as_rule(each) for each in made["rules"]]}

    def answered(self) -> Iterator[Answered]:
        yield policy(rules=[rule(ports=["1", "65535"])]), {}
        for end in (
            {"id": numbered(1).pk, "type": "peer"},
            {"id": printer().pk, "type": "host"},
        ):
            yield policy(rules=[rule(destinations=None, destinationResource=end)]), {}
        minimal: Body = {"name": "r", "action": "accept", "protocol": "all"}
        minimal |= {side: [group_id("a")] for side in SIDES}
        off = {"description": "", "enabled": False}
        made: Body = {"rules": [minimal | off | {"bidirectional": False}]}
        made |= off | {"source_posture_checks": []}
        yield {"name": "p", "rules": [minimal]}, made

    def told(self, made: Body) -> dict[str, Body]:
        of_policy = {"policy_name": "policy 1", "policy_id": made["id"]}
        told = {"policy.add": {"name": "policy 1"}}
        return told | {"rule.add": {"name": "to servers", **of_policy}}

    def changes(self, made: Body) -> Iterator[Change]:
        of_policy = {"policy.update": {"name": "play"}}
        yield {"name": "play"}, {}, of_policy
        about = {"name": "to servers", "policy_id": made["id"], "policy_name": "play"}
        of_both = of_policy | {"rule.update": about}
        yield {"rules": [rule(ports=["80"])]}, {}, of_both
        ssh = rule(protocol="netbird-ssh")
        for users in (["root", "u" * 255], ["admin"]):
            groups = {group_id("people"): users, group_id("more"): []}
            signing_in = ssh | {"sources": [*groups], "authorized_groups": groups}
            yield {"rules": [signing_in]}, {}, of_both
        checks = [PostureCheck.objects.create(name=name).pk for name in "ba"]
        for order in (checks, checks[::-1]):
            yield {"source_posture_checks": order}, {}, of_policy

    def refused(self) -> Iterator[Fault]:
        yield {"name": " "}, 422, "name", "the policy name must not be empty or blank"
        yield {"name": "n" * 256}, 422, "name", "name has more than 255 characters"
        yield {"name": "a\0b"}, 422, "name", ""
        yield {"rules": []}, 422, "rules", "a policy needs at least one rule"
        yield {"rules": None}, 422, "rules", "a policy needs at least one rule"
        unknown = {"source_posture_checks": ["nope"]}
        field = "source_posture_checks[0]"
        yield unknown, 422, field, "posture check 'nope' was not found"
        long = {"description": "d" * 1001}
        yield long, 422, "description", "more than 1000 characters"
        for side in SIDES:
            sent = rule()
            del sent[side]
            yield {"rules": [sent]}, 422, f"rules[0].{side}", f"give either {side} or"
        for changes, name, message in broken_rules():
            rules = [rule(), rule(**changes)]
            yield {"rules": rules}, 422, f"rules[1].{name}", message


def as_rule(made: Body) -> Body:
    """Return the rule of an answer as it was sent: groups by their ids."""
    by_id = {side: [x["id"] for x in made[side]] for side in SIDES if made[side]}
    return {name: value for name, value in made.items() if name != "id"} | by_id


def broken_rules() -> Iterator[tuple[Body, str, str]]:
    """Return changes of a rule, the field that is at fault, and what is said of it."""
    people, end = group_id("people"), {"id": numbered(1).pk, "type": "peer"}
    unknown, ssh = "0" * 20, {"protocol": "netbird-ssh"}
    for side in SIDES:
        one = f"{side[:-1]}Resource"
        yield {side: None}, side, f"give either {side} or {one}"
        yield {one: end}, side, f"give either {side} or {one}, not both"
    yield {"sources": [unknown]}, "sources[0]", f"group {unknown!r} was not found"
    yield {"destinations": [""]}, "destinations[0]", "group '' was not found"
    choices = "'printer' is no type: use one of peer, host, subnet, domain"
    for part, value, message in (
        ("id", "nope", "resource 'nope' was not found"),
        ("type", "printer", choices),
    ):
        one_end = {"sources": [], "sourceResource": end | {part: value}}
        yield one_end, f"sourceResource.{part}", message
    choices = "'sctp' is no protocol: use one of all, tcp, udp, icmp, netbird-ssh"
    yield {"protocol": "sctp"}, "protocol", choices
    choices = "'allow' is no action: use one of accept, drop"
    yield {"action": "allow"}, "action", choices
    both = {"port_ranges": [{"start": 1, "end": 65535}, {"start": 7, "end": 7}]}
    yield both, "ports", "give either ports or port_ranges, not both"
    many = [str(port) for port in range(1, 1002)]
    yield {"ports": many}, "ports", "a rule has at most 1000 ports or ranges of ports"
    for port in ("0", "65536", "022", "x", "", "-1", "1.5", "٢٢"):
        yield {"ports": [port]}, "ports[0]", "a port is a number from 1 to 65535"
    for start, last in ((0, 1), (2, 1), (1, 65536)):
        ranges = {"ports": [], "port_ranges": [{"start": start, "end": last}]}
        yield ranges, "port_ranges[0]", "a port range has 1 <= start <= end <= 65535"
    yield {"protocol": "all"}, "ports", "protocol all has no ports"
    icmp = {"protocol": "icmp", "ports": [], **both}
    yield icmp, "port_ranges", "protocol icmp has no ports"
    message = "only rules with protocol netbird-ssh authorize groups"
    yield {"authorized_groups": {"nope": []}}, "authorized_groups", message
    for groups, place, message in (
        ({group_id("other"): []}, "", f"source group {people!r} is missing"),
        ({people: [], "nope": []}, ".nope", "group 'nope' was not found"),
        *(
            ({people: [user]}, f".{people}[0]", LOCAL_USER)
            for user in ("", "u" * 256, "ro\not")
        ),
    ):
        yield ssh | {"authorized_groups": groups}, f"authorized_groups{place}", message
    yield {"name": "n" * 256}, "name", "the rule name has more than 255 characters"
    message = "the description has more than 1000 characters"
    yield {"description": "d" * 1001}, "description", message


def shown(name: str) -> dict[str, Any]:
    return {"id": group_id(name), "name": name, "peers_count": 0, "resources_count": 0}


def test_rule_shows_groups_as_objects(api: Api):
    [made] = ok(api.post(PATH, policy()))["rules"]
    assert [made[side] for side in SIDES] == [[shown("people")], [shown("servers")]]


@pytest.mark.django_db
@pytest.mark.parametrize("omitted", ["refuse", "empty"])
def test_enabled_left_out_of_a_put_is_kept_unless_clients_leave_out_what_is_false(
    settings: Any, omitted: str
):
    api = api_as("owner")
    nas = {"name": "nas", "address": "10.0.0.9", "enabled": True}
    nas["groups"] = [group_id("people")]
    resources = f"/api/networks/{network().pk}/resources"
    bodies = {PATH: policy(), "/api/routes": route(), resources: nas}
    settings.SVC = replace(settings.SVC, omitted_fields=omitted)
    for path, body in bodies.items():
        made = ok(api.post(path, body))
        del body["enabled"]
        changed = ok(api.put(f"{path}/{made['id']}", body))
        assert changed["enabled"] is (omitted == "refuse"), path


def test_policy_sent_again_without_enabled_does_not_switch_its_rules_on(api: Api):
    made = ok(api.post(PATH, policy(enabled=False, rules=[rule(enabled=False)])))
    sent = rule()
    del sent["enabled"]
    changed = ok(api.put(f"{PATH}/{made['id']}", {"name": "new", "rules": [sent]}))
    assert changed["enabled"] is False
    assert changed["rules"][0]["enabled"] is False


@pytest.mark.parametrize("kind", ["peer", "host", "subnet", "domain"])
def test_type_of_a_resource_is_answered_as_sent_and_its_id_says_what_it_is(
    api: Api, kind: str
):
    machine, reached = numbered(1).pk, printer().pk
    ends = {"sourceResource": {"id": machine, "type": kind}}
    ends["destinationResource"] = {"id": reached, "type": kind}
    ssh: Body = {"protocol": "netbird-ssh"}
    ssh["authorized_groups"] = {group_id("people"): ["root"]}
    sent = rule(**dict.fromkeys(SIDES), **ends, **ssh)
    [shown] = ok(api.post(PATH, policy(rules=[sent])))["rules"]
    assert {end: shown[end] for end in ends} == ends
    [known] = [each for policy in load().policies for each in policy.rules]
    assert (known.sources.peer, known.destinations.resource) == (machine, reached)
    around = load_around(machine)
    assert [each for policy in around.policies for each in policy.rules] == [known]


@pytest.mark.parametrize("side", SIDES)
def test_rule_with_an_empty_side_lets_nobody_through_and_lint_says_so(
    api: Api, side: str
):
    group_id("people", 1)
    group_id("servers", 2)
    made = ok(api.post(PATH, policy(rules=[rule(**{side: []})])))
    assert made["rules"][0][side] == []
    assert ok(api.put(f"{PATH}/{made['id']}", made)) == made
    assert ok(api.get(f"/api/peers/{numbered(1).pk}/accessible-peers")) == []
    findings = ok(api.get("/api/dns/lint"))
    [finding] = [each for each in findings if each["code"] == "policy_one_sided"]
    named = {"kind": "policy", "id": made["id"], "name": made["name"]}
    text = f"1 rule of policy work without {side}, which let nobody through"
    assert (finding["object"], finding["message"]) == (named, text)


def test_ids_of_any_length_are_cut_where_they_are_named(api: Api):
    long, cut = "g" * 65, "g" * 64
    sent = rule(
        protocol="netbird-ssh", sources=[long], authorized_groups={long[1:] + "h": [""]}
    )
    place = "rules[0].authorized_groups"
    assert api.post(PATH, policy(rules=[sent])).fields == {
        "rules[0].sources[0]": f"group {cut!r} was not found",
        place: f"source group {cut!r} is missing",
        f"{place}.{cut}": f"group {cut!r} was not found",
        f"{place}.{cut}[0]": LOCAL_USER,
    }


def test_rule_of_another_policy_is_refused_on_put(api: Api):
    mine, other = (ok(api.post(PATH, policy(name=name))) for name in "ab")
    foreign = other["rules"][0]["id"]
    answer = api.put(f"{PATH}/{mine['id']}", {"rules": [rule(id=foreign)]})
    text = f"rule of this policy {foreign!r} was not found"
    assert answer.refused(422).fields == {"rules[0].id": text}
    assert ok(api.get(f"{PATH}/{other['id']}")) == other


def test_rule_named_twice_is_refused(api: Api):
    made = ok(api.post(PATH, policy()))
    twice = [rule(id=made["rules"][0]["id"])] * 2
    answer = api.put(f"{PATH}/{made['id']}", {"rules": twice})
    assert answer.refused(422).fields == {"rules[1].id": "this rule is given twice"}


def test_ids_of_rules_count_for_nothing_on_creation(api: Api):
    made = ok(api.post(PATH, policy(rules=[rule(id=new_id())])))
    other = ok(api.post(PATH, made | {"name": "copy"}))
    assert other["rules"][0]["id"] != made["rules"][0]["id"]


def test_rules_keep_their_identity_by_id_and_by_place(api: Api):
    rules = [rule(name=name) for name in "abc"]
    made = ok(api.post(PATH, policy(rules=rules)))
    a, b, c = (entry["id"] for entry in made["rules"])
    trail = Trail()
    sent = [rule(name="c", id=c), rule(name="b2"), rule(name="new")]
    changed = ok(api.put(f"{PATH}/{made['id']}", {"rules": sent}))
    assert [entry["name"] for entry in changed["rules"]] == ["c", "b2", "new"]
    assert [entry["id"] for entry in changed["rules"][:2]] == [c, b]
    new = changed["rules"][2]["id"]
    updated = [("rule.update", b), ("rule.update", c)]  # it moved
    others = [("policy.update", made["id"]), ("rule.add", new), ("rule.delete", a)]
    assert sorted(trail.targets) == sorted(updated + others)
    changes = {"added": [new], "removed": [a], "changed": [c, b]}
    assert trail.events[0].changes == {"rules": changes}


def test_a_stored_rule_with_more_ports_than_one_may_have_is_switched_off(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    body = policy(rules=[rule(ports=[str(port) for port in range(1, 1002)])])
    with monkeypatch.context() as patch:  # as before there was a limit
        patch.setattr(policy_rules, "MOST_PORTS", 2000)
        made = ok(api.post(PATH, body))
    assert api.post(PATH, body | {"name": "q"}).status == 422
    off = ok(api.put(f"{PATH}/{made['id']}", {"enabled": False}))
    assert (off["enabled"], len(off["rules"][0]["ports"])) == (False, 1001)


def test_policy_and_a_rule_changed_together_are_one_event_of_the_policy(api: Api):
    made = ok(api.post(PATH, policy()))
    trail = Trail()
    changes = {"name": "play", "rules": [rule(ports=["80"])]}
    ok(api.put(f"{PATH}/{made['id']}", changes))
    assert trail.codes == ["policy.update", "rule.update"]
    assert set(trail.events[0].changes) == {"name", "rules"}


@pytest.mark.parametrize(
    ("change", "of_a_rule"),
    [({}, 1), ({"description": "another"}, 1), ({"sources": []}, 2)],
)
def test_a_write_of_many_rules_reads_what_they_list_at_once(
    api: Api, change: Body, of_a_rule: int
):
    few, many = (statements_of(api, number, change) for number in (3, 12))
    assert many - few <= 9 * of_a_rule + 5


def statements_of(api: Api, number: int, change: Body) -> int:
    """Return how many statements a change of so many rules takes."""
    body = policy(name=f"{number} rules", rules=[rule()] * number)
    made = ok(api.post(PATH, body))
    body["rules"] = [rule(id=each["id"], **change) for each in made["rules"]]
    with CaptureQueriesContext(connection) as captured:
        answer = ok(api.put(f"{PATH}/{made['id']}", body))
    assert [each["id"] for each in answer["rules"]] == [x["id"] for x in made["rules"]]
    return len(captured)
