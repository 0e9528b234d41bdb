"""Admin pages of peers, groups, people, policies, routes, networks and enrolment."""

from typing import Any

import pytest
from django.test import Client

from groups.selectors import groups_of_resources
from meshmgmt.access import models as access
from meshmgmt.accounts.models import Account
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.inventory.models import Network, NetworkResource, Peer
from tests.admin.signed_in import client_of, errors_of, form_data
from tests.factories import (
    Trail,
    account_settings,
    group,
    peer,
    public_key,
    resource,
    rule,
)
from tests.people import person

pytestmark = pytest.mark.django_db

PAGES = [
    *("access/policy", "access/posturecheck", "access/route", "access/router"),
    *("access/setupkey", "access/invite", "access/userautogroup"),
    *("accounts/account", "accounts/user", "groups/group"),
    *("inventory/network", "inventory/networkresource", "inventory/peer"),
]
NEVER_DELETED = {"access/userautogroup", "accounts/account"}
NEVER_CHANGED = {"access/invite", "access/userautogroup"}

CHECKS = {
    "nb_version_check": {"min_version": "1.2.0"},
    "geo_location_check": {"locations": [{"country_code": "DE"}], "action": "allow"},
}


def path(kind: str, rest: str = "") -> str:
    return f"/admin/{kind}/{rest}"


def one_of_each() -> dict[str, Any]:
    """Store one object of each kind and return them by page."""
    kitchen, office = group("kitchen"), group("office")
    made = rule([kitchen, office], [office], protocol="netbird-ssh", ports=["22", "80"])
    users = [(office.pk, "root\nadmin"), (kitchen.pk, "")]
    set_members(access.RuleAuthorizedGroup, made, users)
    check = access.PostureCheck(name="new clients", checks=CHECKS)
    check.save()
    set_members(access.PolicyPostureCheck, made.policy, [check.pk])
    route = access.Route(network_id="r1", network="10.9.0.0/16", peer=peer("gate"))
    route.save()
    set_members(access.RouteGroup, route, [office.pk, kitchen.pk])
    printer = resource("printer", address="10.0.0.7/32")
    members = [peer(), machine(), peer()]
    things = [(printer.pk, "host"), ("ghost", "domain")]
    printers = group("printers", *reversed(members), resources=things)
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
    user = person("user")
    set_members(access.UserAutoGroup, user, [office.pk])
    each = [
        *(made.policy, check, route, router, key, invite),
        *(access.UserAutoGroup.objects.get(), Account.objects.get(), user),
        *(printers, printer.network, printer, members[1]),
    ]
    return dict(zip(PAGES, each, strict=True))


def machine() -> Peer:
    """Store a peer with values in many columns."""
    account_settings(network_range_v6="")
    return peer(
        "Printer",
        wg_public_key=public_key(1),
        ipv6="fd00::1",
        dns_label="printer",
        extra_dns_labels=["b", "a"],
        local_flags={"disable_dns": True, "block_inbound": False},
        user=person("user"),
        approval_required=True,
    )


@pytest.mark.parametrize("kind", PAGES)
def test_saving_a_page_unchanged_changes_nothing(client: Client, kind: str):
    made = one_of_each()[kind]
    page = path(kind, f"{made.pk}/change/")
    assert client.get(path(kind), {"q": str(made)[:3]}, follow=True).status_code == 200
    if kind in NEVER_CHANGED:
        assert client.get(page).status_code == 200
        return
    stored = type(made).objects.filter(pk=made.pk).values()
    sent, before, trail = form_data(client, page), stored.get(), Trail()

    response = client.post(page, sent)

    assert response.status_code == 302, errors_of(response)
    assert trail.codes == []
    assert stored.all().get() == before


@pytest.mark.parametrize("kind", sorted(set(PAGES) - NEVER_DELETED))
def test_objects_are_deleted_through_their_service(client: Client, kind: str):
    made = one_of_each()[kind]
    if isinstance(made, access.PostureCheck):  # in use it stays
        set_members(access.PolicyPostureCheck, access.Policy.objects.get(), [])
    page, trail = path(kind, f"{made.pk}/delete/"), Trail()

    assert client.get(page).status_code == 200
    assert client.post(page, {"post": "yes"}).status_code == 302

    assert not type(made).objects.filter(pk=made.pk).exists()
    assert trail.targets[-1][1] == made.pk
    assert trail.codes[-1].endswith(".delete")


def test_route_is_made_with_its_lists_in_order(client: Client):
    kitchen, office = group("kitchen"), group("office")
    sent: dict[str, Any] = {"network_id": "office", "metric": "5", "enabled": "on"}
    sent |= {"peer_groups": [office.pk, kitchen.pk], "groups": [kitchen.pk]}
    sent["domains"] = "a.mesh.dev\n b.mesh.dev "

    response = client.post(path("access/route", "add/"), sent)

    assert response.status_code == 302, errors_of(response)
    made = access.Route.objects.get()
    assert made.domains == ["a.mesh.dev", "b.mesh.dev"]
    assert member_keys(access.RoutePeerGroup, made) == [office.pk, kitchen.pk]


def test_network_is_filled_with_a_resource_and_a_router(client: Client):
    team, gate = group("team"), peer("gate")

    client.post(path("inventory/network", "add/"), {"name": "lab"})
    lab = Network.objects.get()
    page = path("inventory/network", f"{lab.pk}/change/")
    for viewer, offered in ((client, 2), (client_of(person("auditor")), 0)):
        shown = viewer.get(page).content.decode()
        assert shown.count("0 of them") == 2
        assert shown.count("Add one") == offered
    its = {"name": "printer", "address": "10.0.0.9", "groups": team.pk}
    client.post(path("inventory/networkresource", "add/"), its | {"network": lab.pk})
    sent = {"network": lab.pk, "peer": gate.pk, "metric": "7", "enabled": "on"}
    client.post(path("access/router", "add/"), sent)

    printer = NetworkResource.objects.get()
    assert (printer.network, printer.type) == (lab, "host")
    assert groups_of_resources([printer.pk]) == {printer.pk: [team.pk]}
    router = access.Router.objects.get()
    assert (router.network, router.peer, router.metric) == (lab, gate, 7)


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


def test_a_posture_check_is_made_and_changed_by_filling_in_fields(client: Client):
    add, trail = path("access/posturecheck", "add/"), Trail()
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
    changes = {"name": "other", "client": "", "description": "for all"}
    assert client.post(page, shown | changes).status_code == 302
    kept = {**made.checks}
    del kept["nb_version_check"]
    made.refresh_from_db()
    assert (made.name, made.checks, made.description) == ("other", kept, "for all")
    assert trail.codes == ["posture.check.create", "posture.check.update"]
    text = client.get(path("access/posturecheck")).content.decode()
    assert "not in DE, SE Stockholm" in text
