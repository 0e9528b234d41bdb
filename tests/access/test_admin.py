"""Admin pages of policies, routes, networks and enrolment."""

import re
from typing import Any

import pytest
from django.test import Client

from events.streams import batches
from events.streams.catalogue import TRAFFIC
from groups.selectors import groups_of_resources
from meshmgmt.access import models as access
from meshmgmt.access.rules.posture import PostureDraft
from meshmgmt.access.services.posture import posture_check_create
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.inventory.models import Network, NetworkResource
from tests.admin.signed_in import client_of, errors_of, form_data, texts_of
from tests.events.samples import moment, traffic
from tests.factories import Trail, group, peer, resource, rule
from tests.people import person

pytestmark = pytest.mark.django_db

PAGES = [
    "access/policy",
    "access/policyrule",
    "access/posturecheck",
    "access/route",
    "access/router",
    "access/setupkey",
    "access/invite",
    "access/userautogroup",
    "inventory/network",
    "inventory/networkresource",
]
NEVER_MADE = {"access/userautogroup"}
NEVER_CHANGED = {"access/invite", "access/userautogroup"}

CHECKS = {
    "nb_version_check": {"min_version": "1.2.0"},
    "geo_location_check": {"locations": [{"country_code": "DE"}], "action": "allow"},
}


def path(kind: str, rest: str = "") -> str:
    """Return the path of a page."""
    return f"/admin/{kind}/{rest}"


def one_of_each() -> dict[str, Any]:
    """Store one object of each kind and return them by page."""
    kitchen, office = group("kitchen"), group("office")
    made = rule([kitchen, office], [office])
    made.ports, made.protocol = ["22", "80"], "netbird-ssh"
    made.port_ranges = []
    made.save()
    users = [(office.pk, "root\nadmin"), (kitchen.pk, "")]
    set_members(access.RuleAuthorizedGroup, made, users)
    check = access.PostureCheck(name="new clients", checks=CHECKS)
    check.save()
    set_members(access.PolicyPostureCheck, made.policy, [check.pk])
    route = access.Route(network_id="r1", network="10.9.0.0/16", peer=peer("gate"))
    route.save()
    set_members(access.RouteGroup, route, [office.pk, kitchen.pk])
    printer = resource("printer", address="10.0.0.7/32")
    group("printers", resources=[(printer.pk, "host")])
    router = access.Router(network=printer.network)
    router.save()
    set_members(access.RouterPeerGroup, router, [office.pk, kitchen.pk])
    key = access.SetupKey(name="key", key_hash="0" * 64, key_prefix="ABCDE")
    key.save()
    set_members(access.SetupKeyAutoGroup, key, [office.pk, kitchen.pk])
    invite = access.Invite(
        email="new@mesh.dev", token_hash="1" * 64, expires_at=clock.now()
    )
    invite.save()
    set_members(access.UserAutoGroup, person("user"), [office.pk])
    return {
        "access/policy": made.policy,
        "access/policyrule": made,
        "access/posturecheck": check,
        "access/route": route,
        "access/router": router,
        "access/setupkey": key,
        "access/invite": invite,
        "access/userautogroup": access.UserAutoGroup.objects.get(),
        "inventory/network": printer.network,
        "inventory/networkresource": printer,
    }


@pytest.mark.parametrize("kind", PAGES)
def test_saving_a_page_unchanged_changes_nothing(client: Client, kind: str) -> None:
    made = one_of_each()[kind]
    page = path(kind, f"{made.pk}/change/")
    assert client.get(path(kind), {"q": str(made)[:3]}).status_code == 200
    if kind in NEVER_CHANGED:
        assert client.get(page).status_code == 200
        return
    sent, trail = form_data(client, page), Trail()

    response = client.post(page, sent)

    assert response.status_code == 302, errors_of(response)
    assert trail.codes == []


@pytest.mark.parametrize(
    "kind", sorted(set(PAGES) - NEVER_MADE - {"access/policyrule"})
)
def test_objects_are_deleted_through_their_service(client: Client, kind: str) -> None:
    made = one_of_each()[kind]
    if isinstance(made, access.PostureCheck):  # in use it stays
        set_members(access.PolicyPostureCheck, access.Policy.objects.get(), [])
    trail = Trail()

    response = client.post(path(kind, f"{made.pk}/delete/"), {"post": "yes"})

    assert response.status_code == 302
    assert not type(made).objects.filter(pk=made.pk).exists()
    assert trail.targets[-1][1] == made.pk
    assert trail.codes[-1].endswith(".delete")


def test_policy_is_made_with_its_first_rule(client: Client) -> None:
    kitchen, office = group("kitchen"), group("office")
    trail = Trail()

    response = client.post(
        path("access/policy", "add/"),
        {
            "name": "office",
            "enabled": "on",
            "rule_name": "web",
            "action": "accept",
            "protocol": "tcp",
            "ports": "443-443, 8000-8010",
            "sources": [office.pk, kitchen.pk],
            "destinations": [kitchen.pk],
        },
    )

    assert response.status_code == 302
    made = access.PolicyRule.objects.get()
    assert (made.policy.name, made.name, made.protocol) == ("office", "web", "tcp")
    assert made.port_ranges == [
        {"start": 443, "end": 443},
        {"start": 8000, "end": 8010},
    ]
    assert not made.bidirectional
    assert member_keys(access.RuleSource, made) == [office.pk, kitchen.pk]
    assert trail.codes == ["policy.add", "rule.add"]


RULE = {"rule_name": "r", "action": "accept", "protocol": "tcp"}


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"name": ""}, "name", "must"),
        ({"sources": []}, "sources", "give either sources or sourceResource"),
        ({"ports": "70000"}, "ports", "a port is a number from 1 to 65535"),
        ({"ports": "9-1"}, "ports", "a port range has"),
        ({"ports": "1, 2-3"}, "ports", "give either ports or port_ranges"),
        ({"ports": "1", "protocol": "icmp"}, "ports", "protocol icmp has no ports"),
        (
            {"destinations": [], "destination_peer": "x"},
            "destination_resource",
            "",
        ),
        ({"rule_name": "x" * 300}, "rule_name", "rule name"),
    ],
)
def test_fields_of_a_new_policy_show_what_the_api_says(
    client: Client, changes: dict[str, Any], field: str, message: str
) -> None:
    team = group("team")
    trail = Trail()
    data = {"name": "p", **RULE, "sources": [team.pk], "destinations": [team.pk]}

    response = client.post(path("access/policy", "add/"), {**data, **changes})

    found = errors_of(response)
    assert list(found) == [field]
    assert message in found[field][0]
    assert trail.codes == []


def test_rules_are_added_changed_and_removed_within_their_policy(
    client: Client,
) -> None:
    team, other = group("team"), group("other")
    first = rule([team], [team])
    add = path("access/policyrule", "add/")
    data = {**RULE, "enabled": "on", "sources": [team.pk], "destinations": [team.pk]}
    trail = Trail()

    made = client.post(add, {**data, "policy": first.policy.pk})

    assert made.status_code == 302, errors_of(made)
    second = access.PolicyRule.objects.get(position=1)
    assert second.policy == first.policy
    page = path("access/policyrule", f"{first.pk}/change/")
    sent = {**form_data(client, page), "sources": [other.pk, team.pk]}
    assert client.post(page, sent).status_code == 302
    assert member_keys(access.RuleSource, first) == [other.pk, team.pk]
    assert access.PolicyRule.objects.get(pk=first.pk).position == 0
    assert trail.targets == [
        ("policy.update", first.policy_id),
        ("rule.add", second.pk),
        ("policy.update", first.policy_id),
        ("rule.update", first.pk),
    ]

    delete = path("access/policyrule", f"{first.pk}/delete/")
    assert client.post(delete, {"post": "yes"}).status_code == 302
    last = path("access/policyrule", f"{second.pk}/delete/")
    refused = client.post(last, {"post": "yes"})
    assert "a policy needs at least one rule" in texts_of(refused)
    assert list(access.PolicyRule.objects.all()) == [second]


def test_rule_without_a_policy_is_refused(client: Client) -> None:
    team = group("team")
    data = {**RULE, "sources": [team.pk], "destinations": [team.pk]}

    for policy in ("", "nope"):
        response = client.post(
            path("access/policyrule", "add/"), {**data, "policy": policy}
        )
        assert errors_of(response) == {"policy": ["choose the policy of the rule"]}


def test_fault_of_another_rule_is_told_apart(client: Client) -> None:
    team = group("team")
    faulty = rule([team], [team])
    faulty.protocol, faulty.ports = "tcp", ["0"]
    faulty.save()
    good = rule([team], [team], faulty.policy)
    page = path("access/policyrule", f"{good.pk}/change/")
    sent = {**form_data(client, page), "rule_name": "other"}

    response = client.post(page, sent)

    [message] = errors_of(response)["__all__"]
    assert message.startswith("another rule of the policy is faulty: a port is")


def test_route_is_made_with_its_lists_in_order(client: Client) -> None:
    kitchen, office = group("kitchen"), group("office")

    response = client.post(
        path("access/route", "add/"),
        {
            "network_id": "office",
            "domains": "a.mesh.dev\n b.mesh.dev ",
            "peer_groups": [office.pk, kitchen.pk],
            "groups": [kitchen.pk],
            "metric": "5",
            "enabled": "on",
        },
    )

    assert response.status_code == 302, errors_of(response)
    made = access.Route.objects.get()
    assert made.domains == ["a.mesh.dev", "b.mesh.dev"]
    assert member_keys(access.RoutePeerGroup, made) == [office.pk, kitchen.pk]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"network": "10.0.0"}, "network", "is no network such as"),
        ({"network": ""}, "network", "give either network or domains"),
        ({"domains": "*"}, "network", "not both"),
        ({"peer": ""}, "peer", "give either peer or peer_groups"),
        ({"peer": "nope"}, "peer", "nope"),
        ({"groups": []}, "groups", "at least one group"),
        ({"metric": "0"}, "metric", ""),
        ({"network_id": ""}, "network_id", "network identifier"),
    ],
)
def test_fields_of_a_route_show_what_the_api_says(
    client: Client, changes: dict[str, Any], field: str, message: str
) -> None:
    data = {
        "network_id": "r",
        "network": "10.0.0.0/8",
        "peer": peer().pk,
        "groups": [group().pk],
        "metric": "1",
    }
    trail = Trail()

    response = client.post(path("access/route", "add/"), {**data, **changes})

    found = errors_of(response)
    assert field in found
    assert message in " ".join(found[field])
    assert trail.codes == []


def test_network_is_filled_with_a_resource_and_a_router(client: Client) -> None:
    team, gate = group("team"), peer("gate")

    client.post(path("inventory/network", "add/"), {"name": "lab"})
    lab = Network.objects.get()
    client.post(
        path("inventory/networkresource", "add/"),
        {
            "network": lab.pk,
            "name": "printer",
            "address": "10.0.0.9",
            "groups": team.pk,
        },
    )
    client.post(
        path("access/router", "add/"),
        {"network": lab.pk, "peer": gate.pk, "metric": "7", "enabled": "on"},
    )

    printer = NetworkResource.objects.get()
    assert (printer.network, printer.type) == (lab, "host")
    assert groups_of_resources([printer.pk]) == {printer.pk: [team.pk]}
    router = access.Router.objects.get()
    assert (router.network, router.peer, router.metric) == (lab, gate, 7)


def test_the_list_of_policies_says_who_may_do_what_and_how_often_it_happened(
    client: Client,
) -> None:
    made = rule([group("Engineers")], [group("Servers"), group("Printers")])
    made.protocol, made.ports, made.bidirectional = "tcp", ["22", "443"], False
    made.save()
    check = posture_check_create(
        draft=PostureDraft("fresh", {"nb_version_check": {"min_version": "1.0.0"}})
    )
    set_members(access.PolicyPostureCheck, made.policy, [check.pk])
    flows = [traffic(policy={"id": made.policy_id}), traffic()]
    old = traffic(policy={"id": made.policy_id}, window_end=moment(8 * 24 * 60))
    batches.ingest_events(TRAFFIC, [*flows, old])
    text = client.get(path("access/policy")).content.decode()
    row = text[text.index(f">{made.policy.name}<") :]
    said = " ".join(re.sub(r"<[^>]+>", " ", row[: row.index("</tr>")]).split())
    wanted = "Engineers → Servers , Printers TCP 22, 443 fresh 1 enabled"
    assert said.endswith(wanted)
    query = f"start_date=-7d&amp;policy_id={made.policy_id}"
    assert f'href="/admin/events/trafficevent/?{query}"' in row


def test_a_policy_is_switched_off_and_on_in_the_list(client: Client) -> None:
    policy = rule([group("a")], [group("b")]).policy
    switch = path("access/policy", f"{policy.pk}/switch/")
    assert switch in client.get(path("access/policy")).content.decode()
    trail = Trail()
    for sent, enabled in (("", False), ("1", True)):
        answer = client.post(switch, {"enabled": sent}, headers={"Referer": "x?q=po"})
        assert answer.headers["Location"] == f"{path('access/policy')}?q=po"
        policy.refresh_from_db()
        assert policy.enabled is enabled
    assert trail.codes == ["policy.update"] * 2
    reader = client_of(person("auditor"))
    assert reader.post(switch, {"enabled": ""}).status_code == 403
    assert "switch/" not in reader.get(path("access/policy")).content.decode()


CONDITIONS = {
    "name": "strict",
    "client": "0.60.0",
    "linux": "6.1",
    "darwin": "14.0",
    "locations": "de\nSE Stockholm",
    "location_action": "deny",
    "ranges": "10.1.0.0/16",
    "range_action": "allow",
    "processes": r"linux: /usr/bin/agent | windows: C:\agent.exe",
}


def test_a_posture_check_is_made_by_filling_in_fields(client: Client) -> None:
    add = path("access/posturecheck", "add/")
    assert client.post(add, CONDITIONS).status_code == 302
    made = access.PostureCheck.objects.get()
    program = {"linux_path": "/usr/bin/agent", "windows_path": r"C:\agent.exe"}
    assert made.checks == {
        "nb_version_check": {"min_version": "0.60.0"},
        "os_version_check": {
            "linux": {"min_kernel_version": "6.1"},
            "darwin": {"min_version": "14.0"},
        },
        "geo_location_check": {
            "locations": [
                {"country_code": "DE"},
                {"country_code": "SE", "city_name": "Stockholm"},
            ],
            "action": "deny",
        },
        "peer_network_range_check": {"ranges": ["10.1.0.0/16"], "action": "allow"},
        "process_check": {"processes": [program]},
    }
    page = path("access/posturecheck", f"{made.pk}/change/")
    shown = form_data(client, page)
    actions = {"location_action": ["deny"], "range_action": ["allow"]}
    assert shown == {**CONDITIONS, "locations": "DE\nSE Stockholm", **actions}
    assert (
        client.post(page, {**shown, "name": "other", "client": ""}).status_code == 302
    )
    kept = {**made.checks}
    del kept["nb_version_check"]
    made.refresh_from_db()
    assert (made.name, made.checks) == ("other", kept)
    text = client.get(path("access/posturecheck")).content.decode()
    assert "not in DE, SE Stockholm" in text


@pytest.mark.parametrize(
    ("changes", "field", "part"),
    [
        ({"client": "new"}, "client", "no version"),
        ({"darwin": "x"}, "darwin", "no version"),
        ({"locations": "Germany"}, "locations", "no country code"),
        ({"ranges": "here"}, "ranges", "no network"),
        ({"processes": "agent.exe"}, "processes", "no path such as"),
    ],
)
def test_conditions_that_are_wrong_are_said_at_their_fields(
    client: Client, changes: dict[str, str], field: str, part: str
) -> None:
    sent = {**CONDITIONS, **changes}
    errors = errors_of(client.post(path("access/posturecheck", "add/"), sent))
    assert set(errors) == {field}
    assert part in " ".join(errors[field])


def test_a_rule_names_a_peer_or_a_resource_by_choice(client: Client) -> None:
    gate, printer, team = peer("gate"), resource("printer"), group("team")
    add = path("access/policy", "add/")
    text = client.get(add).content.decode()
    assert f'<option value="{printer.pk}">printer</option>' in text
    ends = {"source_peer": gate.pk, "destination_resource": printer.pk}
    assert client.post(add, {"name": "p", **RULE, **ends}).status_code == 302
    made = access.PolicyRule.objects.get()
    assert (made.source_resource_type, made.source_resource_id) == ("peer", gate.pk)
    stored = (made.destination_resource_type, made.destination_resource_id)
    assert stored == ("host", printer.pk)
    page = path("access/policyrule", f"{made.pk}/change/")
    assert {**form_data(client, page)}["source_peer"] == [gate.pk]
    row = client.get(path("access/policy")).content.decode()
    assert "<bdi>gate</bdi> → <bdi>printer</bdi>" in row
    both = {"sources": [team.pk], **RULE, "destination_peer": gate.pk}
    sent = {"name": "q", **both, "destination_resource": printer.pk}
    assert errors_of(client.post(add, sent)) == {
        "destination_resource": ["choose a peer or a resource, not both"]
    }


def test_groups_that_sign_in_by_ssh_are_named(client: Client) -> None:
    admins, team = group("Admins: all"), group("team")
    ends = {"sources": [team.pk], "destinations": [team.pk]}
    ssh = {**RULE, **ends, "protocol": "netbird-ssh", "name": "p"}
    add = path("access/policy", "add/")
    lines = "Admins: all: root deploy\nteam"
    assert client.post(add, {**ssh, "authorized_groups": lines}).status_code == 302
    made = access.PolicyRule.objects.get()
    links = made.authorized_group_links.values_list("group", "local_users")
    assert list(links) == [(admins.pk, "root\ndeploy"), (team.pk, "")]
    page = path("access/policyrule", f"{made.pk}/change/")
    assert form_data(client, page)["authorized_groups"] == lines
    answer = client.post(add, {**ssh, "name": "q", "authorized_groups": "nobody"})
    assert errors_of(answer) == {"authorized_groups": ["no group is called 'nobody'"]}
