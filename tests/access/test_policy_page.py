"""Policies in the admin site: the list, and the page on which a policy is written whole."""

import re
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.audit.audited import audited_bulk_create
from events.models import AuditEvent
from events.streams import batches
from events.streams.catalogue import TRAFFIC
from groups.models import Group
from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    RuleDestination,
    RuleSource,
)
from meshmgmt.access.rules.policies import PortRange, ResourceRef, RuleDraft
from meshmgmt.access.selectors.policies import policy_rows
from meshmgmt.access.services.policies import policies, posture_checks
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import NetworkResource, Peer
from tests.admin.signed_in import (
    client_of,
    errors_of,
    form_data,
    formset_of,
    opened,
    saved,
)
from tests.events.samples import moment, traffic
from tests.factories import Trail, group, peer, resource, rule
from tests.people import person

pytestmark = pytest.mark.django_db

LIST = "/admin/access/policy/"
ADD = f"{LIST}add/"
MOST_BYTES = 150_000
MOST_QUERIES = 14
RULE = {"rule_name": "r", "action": "accept", "protocol": "tcp", "enabled": "on"}
NEW_ROW = {"action": "accept", "protocol": "all", "bidirectional": "on"}


SSH = {**RULE, "protocol": "netbird-ssh"}


@pytest.fixture
def team(db: None) -> Group:
    return group("team")


@pytest.fixture
def one(team: Group) -> PolicyRule:
    """A rule inside of the team, the only one of its policy."""
    return rule([team], [team])


def page_of(policy: Policy) -> str:
    return f"{LIST}{policy.pk}/change/"


def row(number: int, fields: dict[str, Any]) -> dict[str, Any]:
    """Return what a browser sends for the row of a rule."""
    return {f"rules-{number}-{name}": value for name, value in fields.items()}


def drafts_of(policy: Policy) -> list[RuleDraft]:
    drafts: list[RuleDraft] = policies.stored(policy)["rules"]
    return drafts


def rows(*fields: dict[str, Any], **policy: Any) -> dict[str, Any]:
    """Return what a browser sends for a new policy with these rows."""
    sent: dict[str, Any] = {"name": "p", "enabled": "on", **policy}
    sent |= {"rules-TOTAL_FORMS": len(fields), "rules-INITIAL_FORMS": 0}
    for number, each in enumerate(fields):
        sent |= row(number, each)
    return sent


def row_errors(response: Any) -> list[dict[str, list[str]]]:
    """Return what is said at each row of a page that is shown again."""
    assert response.status_code == 200, "the page was accepted"
    return [
        {field: list(texts) for field, texts in form.errors.items()}
        for form in formset_of(response).forms
    ]


def about_all(response: Any) -> list[str]:
    return list(formset_of(response).non_form_errors())


def within(one: Group) -> dict[str, Any]:
    """Return both ends of a rule inside of one group."""
    return {"sources": [one.pk], "destinations": [one.pk]}


def test_a_policy_is_made_with_all_its_rules_in_one_transaction(client: Client):
    kitchen, office = group("kitchen"), group("office")
    ends = {"sources": [office.pk, kitchen.pk], "destinations": [kitchen.pk]}
    web = {**RULE, "rule_name": "web", "ports": "443-443, 8000-8010", **ends}
    back = {**NEW_ROW, "rule_name": "back", "enabled": "on", **ends}
    trail = Trail()

    saved(client.post(ADD, rows(web, back, {**NEW_ROW, "enabled": "on"})))

    first, second = PolicyRule.objects.order_by("position")
    assert (first.policy.name, first.name, first.protocol) == ("p", "web", "tcp")
    ranges = [{"start": 443, "end": 443}, {"start": 8000, "end": 8010}]
    assert first.port_ranges == ranges
    assert (first.bidirectional, second.bidirectional) == (False, True)
    assert member_keys(RuleSource, first) == [office.pk, kitchen.pk]
    assert trail.codes == ["policy.add", "rule.add", "rule.add"]
    assert len(set(AuditEvent.objects.values_list("request_id", flat=True)[:3])) == 1


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"sources": []}, "sources", "give either sources or sourceResource"),
    ({"ports": "70000"}, "ports", "a port is a number from 1 to 65535"),
    ({"ports": "9-1"}, "ports", "a port range has"),
    ({"ports": "1, 2-3"}, "ports", "give either ports or port_ranges"),
    ({"ports": "1", "protocol": "icmp"}, "ports", "protocol icmp has no ports"),
    ({"destinations": [], "destination_peer": "x"}, "destination_resource", ""),
    ({"rule_name": "x" * 300}, "rule_name", "rule name"),
    ({"source_resource": "nope"}, "source_resource", "no resource is called"),
    ({"authorized_groups": "nobody"}, "authorized_groups", "no group is called"),
]


@pytest.mark.slow
def test_the_row_that_is_wrong_says_what_the_api_says(client: Client, team: Group):
    good, trail = {**RULE, **within(team)}, Trail()
    for changes, field, message in WRONG:
        response = client.post(ADD, rows(good, {**good, **changes}))

        first, second = row_errors(response)
        assert (first, list(second)) == ({}, [field]), changes
        assert message in second[field][0]
        assert list(errors_of(response)) == ["__all__"], changes
        assert "<details open>" in response.content.decode(), changes
    assert trail.codes == []
    assert not Policy.objects.exists()


def test_a_policy_needs_a_name_and_a_rule(client: Client, team: Group, one: PolicyRule):
    good = {**RULE, **within(team)}
    assert "name" in errors_of(client.post(ADD, rows(good, name="")))
    page = page_of(one.policy)
    for path, sent in (
        (ADD, rows({**NEW_ROW, "enabled": "on"})),
        (page, {**opened(client, page), "rules-0-DELETE": "on"}),
    ):
        refused = client.post(path, sent)
        assert about_all(refused) == ["a policy needs at least one rule"]
    assert one.policy.rules.count() == 1


def test_rules_are_changed_added_and_deleted_on_the_page_of_their_policy(
    client: Client, team: Group, one: PolicyRule
):
    other, policy = group("other"), one.policy
    second = rule([team], [team], policy, position=1)
    trail = Trail()
    sent = opened(client, page_of(policy))
    sent |= {"rules-0-sources": [other.pk, team.pk], "rules-1-DELETE": "on"}
    ends = {"sources": [team.pk], "destinations": [other.pk]}
    sent |= row(2, {**RULE, "rule_name": "third", **ends})

    saved(client.post(page_of(policy), sent))

    assert [x.name for x in policy.rules.order_by("position")] == [one.name, "third"]
    assert member_keys(RuleSource, one) == [other.pk, team.pk]
    # As over the API, a rule without id takes the place, so the id, of one that is gone.
    assert set(trail.targets) == {
        ("policy.update", policy.pk),
        ("rule.update", one.pk),
        ("rule.update", second.pk),
    }


def test_rules_that_others_add_and_change_meanwhile_stay(
    client: Client, team: Group, one: PolicyRule
):
    policy = one.policy
    late = {**opened(client, page_of(policy)), "rules-0-rule_name": "renamed"}
    [draft] = drafts_of(policy)
    changed = replace(draft, protocol="tcp", ports=["22"])
    other: dict[str, Any] = {"sources": [group("other").pk], "port_ranges": []}
    added = replace(draft, id="", name="theirs", action="drop", **other)
    policies.update(policy.pk, {"rules": [changed, added]})

    saved(client.post(page_of(policy), late))

    mine, theirs = drafts_of(policy)
    assert mine == replace(changed, name="renamed")
    assert theirs == replace(added, id=theirs.id)


def test_a_field_of_a_rule_that_both_changed_is_refused_once_and_then_meant(
    client: Client, one: PolicyRule
):
    policy, page = one.policy, page_of(one.policy)
    late = {**opened(client, page), "rules-0-rule_name": "mine"}
    [draft] = drafts_of(policy)
    policies.update(policy.pk, {"rules": [replace(draft, name="theirs")]})

    refused = client.post(page, late)

    [errors, _] = row_errors(refused)
    assert errors["rule_name"] == ["somebody else changed it meanwhile"]
    assert policy.rules.get().name == "theirs"
    again = {**late, "rules-0-seen": formset_of(refused).forms[0].seen}
    saved(client.post(page, again))
    assert policy.rules.get().name == "mine"


def test_a_rule_that_is_gone_meanwhile_is_said_at_its_row(
    client: Client, team: Group, one: PolicyRule
):
    gone = rule([team], [team], one.policy, position=1)
    late = {**opened(client, page_of(one.policy)), "rules-1-rule_name": "late"}
    policies.update(one.policy_id, {"rules": drafts_of(one.policy)[:1]})

    response = client.post(page_of(one.policy), late)

    errors = row_errors(response)[1]
    assert "somebody else removed it meanwhile" in errors["__all__"][0]
    assert not PolicyRule.objects.filter(pk=gone.pk).exists()


def test_the_rules_of_a_page_have_no_search(client: Client, one: PolicyRule):
    for page in (page_of(one.policy), "/admin/access/policy/add/"):
        assert client.get(page, {"q": "x"}).status_code == 200


def test_a_rule_that_is_gone_meanwhile_holds_up_no_other(
    client: Client, team: Group, one: PolicyRule
):
    gone = rule([team], [team], one.policy, position=1)
    late = {**opened(client, page_of(one.policy)), "rules-0-rule_name": "late"}
    policies.update(one.policy_id, {"rules": drafts_of(one.policy)[:1]})

    saved(client.post(page_of(one.policy), late))

    [left] = drafts_of(one.policy)
    assert left.name == "late"
    assert left.id != gone.pk


@pytest.mark.slow
def test_a_policy_of_many_rules_is_written_part_by_part(client: Client, team: Group):
    drafts = [
        RuleDraft(name=f"r{number}", action="accept", protocol="all", **within(team))
        for number in range(25)
    ]
    policy = policies.create({"name": "many", "rules": drafts})
    last = policy.rules.get(name="r24")
    alone = client.get(f"/admin/access/policyrule/{last.pk}/change/")
    assert alone.headers["Location"] == f"{page_of(policy)}?part=2#rules-4"
    text = client.get(page_of(policy)).content.decode()
    assert "25 rules" in text
    assert 'href="?part=2"' in text
    assert "<bdi>r19</bdi>" in text
    assert "<bdi>r20</bdi>" not in text
    path = f"{page_of(policy)}?part=2"
    sent = {**form_data(client, path), "rules-4-rule_name": "last"}
    saved(client.post(path, sent))
    names = policy.rules.order_by("position").values_list("name", flat=True)
    assert list(names) == [*(f"r{number}" for number in range(24)), "last"]
    for odd in ("0", "x", "999999", "-1"):
        assert client.get(f"{page_of(policy)}?part={odd}").status_code == 200


def test_a_rule_names_a_peer_or_a_resource_by_choice(client: Client, team: Group):
    gate = peer("gate")
    printer = resource("printer", address="10.0.0.7/32")
    assert '<option value="printer"></option>' in client.get(ADD).content.decode()
    ends = {"source_peer": gate.pk, "destination_resource": "printer"}
    saved(client.post(ADD, rows({**RULE, **ends})))
    made = PolicyRule.objects.get()
    assert (made.source_resource_type, made.source_resource_id) == ("peer", gate.pk)
    stored = (made.destination_resource_type, made.destination_resource_id)
    assert stored == ("host", printer.pk)
    shown = form_data(client, page_of(made.policy))
    assert shown["rules-0-source_peer"] == [gate.pk]
    assert shown["rules-0-destination_resource"] == "printer"
    row = client.get(LIST).content.decode()
    assert "<bdi>gate</bdi> → <bdi>printer</bdi>" in row
    both = {**RULE, "sources": [team.pk], "destination_peer": gate.pk}
    answer = client.post(ADD, rows({**both, "destination_resource": "printer"}))
    wanted = {"destination_resource": ["choose a peer or a resource, not both"]}
    assert row_errors(answer) == [wanted]


def test_groups_that_sign_in_by_ssh_are_named(client: Client, team: Group):
    admins, lines = group("Admins: all"), "Admins: all: root deploy\nteam"
    saved(client.post(ADD, rows({**SSH, **within(team), "authorized_groups": lines})))
    made = PolicyRule.objects.get()
    links = made.authorized_group_links.values_list("group", "local_users")
    assert list(links) == [(admins.pk, "root\ndeploy"), (team.pk, "")]
    shown = form_data(client, page_of(made.policy))
    assert shown["rules-0-authorized_groups"] == lines


def test_who_signs_in_by_ssh_stays_to_the_letter_while_nobody_touches_the_line(
    client: Client, team: Group
):
    twin, padded = group("team", issued="jwt"), group(" padded ")
    signing_in = {twin.pk: ["John Doe"], team.pk: [], padded.pk: ["root"]}
    ssh: dict[str, Any] = {"action": "accept", "protocol": "netbird-ssh"}
    ssh |= {"sources": [twin.pk], "destinations": [team.pk]}
    draft = RuleDraft(name="ssh", **ssh, authorized_groups=signing_in)
    policy = policies.create({"name": "p", "rules": [draft]})

    sent = {**opened(client, page_of(policy)), "rules-0-rule_name": "renamed"}
    saved(client.post(page_of(policy), sent))

    [stored] = drafts_of(policy)
    assert (stored.name, stored.authorized_groups) == ("renamed", signing_in)


def test_a_name_of_several_groups_lets_none_of_them_sign_in(
    client: Client, team: Group
):
    group("team", issued="jwt")
    ssh = {**SSH, **within(team)}

    refused = client.post(ADD, rows({**ssh, "authorized_groups": "team: root"}))

    text = "several groups are called 'team': give the id of one"
    assert row_errors(refused) == [{"authorized_groups": [text]}]
    saved(client.post(ADD, rows({**ssh, "authorized_groups": f"{team.pk}: root"})))
    links = PolicyRule.objects.get().authorized_group_links
    assert list(links.values_list("group", "local_users")) == [(team.pk, "root")]


def test_who_may_only_look_reads_the_rules_in_words(client: Client):
    made = rule([group("Engineers")], [group("Servers")], protocol="tcp", ports=["22"])
    reader = client_of(person("auditor"))
    text = reader.get(page_of(made.policy)).content.decode()
    said = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert f"{made.name} Engineers ↔ Servers TCP 22" in said
    assert "rules-0-rule_name" not in text
    sent = rows({**RULE, "rule_name": "x"})
    assert reader.post(page_of(made.policy), sent).status_code == 403


PORTS = st.lists(st.integers(1, 65535).map(str), max_size=3, unique=True)
RANGES = st.builds(
    lambda ends: PortRange(min(ends), max(ends)),
    st.tuples(st.integers(1, 65535), st.integers(1, 65535)),
)
NAMES = st.text(
    st.characters(exclude_categories=["C"], exclude_characters="\u2028\u2029"),
    min_size=1,
    max_size=20,
)


@st.composite
def rule_drafts(draw: st.DrawFn) -> RuleDraft:
    groups = list(Group.objects.values_list("pk", flat=True))
    chosen = st.lists(st.sampled_from(groups), min_size=1, unique=True)
    refs = [
        *(ResourceRef(x.pk, "peer") for x in Peer.objects.all()),
        *(ResourceRef(x.pk, x.type) for x in NetworkResource.objects.all()),
    ]
    protocol = draw(st.sampled_from(["all", "tcp", "udp", "icmp", "netbird-ssh"]))
    ported = protocol in {"tcp", "udp"}
    ports, ranges = draw(PORTS) if ported else [], []
    if ported and not ports:
        ranges = draw(st.lists(RANGES, max_size=2))
    ends: dict[str, Any] = {}
    for end in ("source", "destination"):
        stands = draw(st.none() | st.sampled_from(refs))
        ends[f"{end}_resource"] = stands
        ends[f"{end}s"] = None if stands else draw(chosen)
    signed = {}
    if protocol == "netbird-ssh":
        signed = {pk: draw(st.sampled_from([[], ["root"]])) for pk in groups}
    return RuleDraft(
        name=draw(NAMES),
        description=draw(st.just("") | NAMES),
        action=draw(st.sampled_from(["accept", "drop"])),
        protocol=protocol,
        enabled=draw(st.booleans()),
        bidirectional=draw(st.booleans()),
        ports=ports,
        port_ranges=ranges,
        authorized_groups=signed,
        **ends,
    )


@pytest.mark.slow
@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_any_policy_saved_as_it_is_stays_as_it_is(client: Client, data: st.DataObject):
    if not Group.objects.filter(name="a").exists():
        group("a")
        group("b: c")
        peer("gate")
        resource("printer")
    drafts = data.draw(st.lists(rule_drafts(), min_size=1, max_size=3))
    policy = policies.create({"name": "any", "rules": drafts})
    before, trail = policy_rows([policy.pk]), Trail()

    saved(client.post(page_of(policy), opened(client, page_of(policy))))

    assert policy_rows([policy.pk]) == before
    assert trail.codes == []


def test_the_list_says_who_may_do_what_and_how_often_it_happened(client: Client):
    made = rule([group("Engineers")], [group("Servers"), group("Printers")])
    made.protocol, made.ports, made.bidirectional = "tcp", ["22", "443"], False
    made.save()
    check = posture_checks.create(
        {"name": "fresh", "checks": {"nb_version_check": {"min_version": "1.0.0"}}}
    )
    set_members(PolicyPostureCheck, made.policy, [check.pk])
    flows = [traffic(policy={"id": made.policy_id}), traffic()]
    old = traffic(policy={"id": made.policy_id}, window_end=moment(8 * 24 * 60))
    batches.ingest_events(TRAFFIC, [*flows, old])
    text = client.get(LIST).content.decode()
    row = text[text.index(f">{made.policy.name}<") :]
    said = " ".join(re.sub(r"<[^>]+>", " ", row[: row.index("</tr>")]).split())
    wanted = "Engineers → Servers , Printers TCP 22, 443 fresh 1 enabled"
    assert said.endswith(wanted)
    query = f"start_date=-7d&amp;policy_id={made.policy_id}"
    assert f'href="/admin/events/trafficevent/?{query}"' in row


def test_a_policy_is_switched_off_and_on_in_the_list(client: Client):
    policy = rule([group("a")], [group("b")]).policy
    switch = f"{LIST}{policy.pk}/switch/"
    assert switch in client.get(LIST).content.decode()
    trail = Trail()
    for sent, enabled in (("", False), ("1", True)):
        answer = client.post(switch, {"enabled": sent}, headers={"Referer": "x?q=po"})
        assert answer.headers["Location"] == f"{LIST}?q=po"
        policy.refresh_from_db()
        assert policy.enabled is enabled
    assert trail.codes == ["policy.update"] * 2
    reader = client_of(person("auditor"))
    assert reader.post(switch, {"enabled": ""}).status_code == 403
    assert "switch/" not in reader.get(LIST).content.decode()
    back = client.get(switch)  # as after signing in again
    assert (back.status_code, back["Location"]) == (302, LIST)


def many_policies(number: int) -> None:
    """Store policies from four groups and a peer in place of groups to four groups."""
    groups = [group(f"site-{x:03}").pk for x in range(8)]
    gate = {"source_resource_id": peer("gate").pk, "source_resource_type": "peer"}
    made = [Policy(name=f"policy {x}") for x in range(number)]
    rules = [
        PolicyRule(policy=policy, name=f"rule {x}", position=x, **ends)
        for policy in made
        for x, ends in enumerate([{}, gate])
    ]
    with account_write():
        audited_bulk_create(made)
        audited_bulk_create(rules)
        for one in rules[::2]:
            set_members(RuleSource, one, groups[:4], new=True)
            set_members(RuleDestination, one, groups[4:], new=True)


@pytest.mark.slow
def test_a_list_of_a_thousand_policies_is_small_and_asks_little(client: Client):
    many_policies(1_000)
    with CaptureQueriesContext(connection) as asked:
        response = client.get(LIST)
    assert len(asked) <= MOST_QUERIES, [each["sql"][:200] for each in asked]
    assert len(response.content) <= MOST_BYTES
    assert response.context["cl"].result_count == 1_000
