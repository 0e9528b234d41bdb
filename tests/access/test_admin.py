"""Admin pages of policies, routes, networks and enrolment."""

from typing import Any

import pytest
from django.test import Client

from groups.selectors import groups_of_resources
from meshmgmt.access import models as access
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.inventory.models import Network, NetworkResource
from tests.admin.signed_in import errors_of, form_data, texts_of
from tests.mesh import Trail, group, peer, resource, rule
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
            {"destinations": [], "destination_resource_id": "x"},
            "destination_resource_id",
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
