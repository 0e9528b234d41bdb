"""Admin pages of peers."""

import ipaddress
from typing import Any

import pytest
from django.test import Client

from meshmgmt.access.models import Router
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.users import user_delete
from meshmgmt.inventory.models import Peer
from tests.admin.signed_in import errors_of, form_data
from tests.factories import Trail, group, ipv6_for_all, network, peer, public_key
from tests.people import person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]

PEERS = "/admin/inventory/peer/"


def test_peer_is_made_with_a_free_address_and_a_label(client: Client, owner: User):
    form: dict[str, Any] = {"name": "Printer", "wg_public_key": public_key(1)}
    form |= {"extra_dns_labels": "www\n\n api ", "local_flags": ["disable_dns"]}
    form |= {"os": "Debian 12", "ssh_enabled": "on", "user": owner.pk}
    trail = Trail()

    assert client.post(f"{PEERS}add/", form).status_code == 302

    made = Peer.objects.get()
    assert ipaddress.ip_address(made.ip) in ipaddress.ip_network("100.64.0.0/10")
    assert (made.dns_label, made.user_id) == ("printer", owner.pk)
    assert made.extra_dns_labels == ["www", "api"]
    assert made.local_flags == {"disable_dns": True}
    assert (made.os, made.ssh_enabled) == ("Debian 12", True)
    assert trail.targets == [("peer.user.add", made.pk)]
    assert trail.events[0].initiator_id == owner.pk


def changed(client: Client, one: Peer, **fields: Any) -> Any:
    """Send the form of a peer as it is but for some fields; return the answer."""
    path = f"{PEERS}{one.pk}/change/"
    return client.post(path, form_data(client, path) | fields)


def test_changes_obey_the_rules_of_the_api(client: Client):
    errors = errors_of(changed(client, peer(), login_expiration_enabled="on"))
    message = errors["login_expiration_enabled"][0]
    assert message.startswith("nobody owns this peer")


def test_peer_gets_its_owner_and_an_expiration_at_once(client: Client, owner: User):
    chosen = {"user": owner.pk, "login_expiration_enabled": "on"}
    response = changed(client, peer(), **chosen)
    assert response.status_code == 302, errors_of(response)
    assert Peer.objects.filter(user=owner, login_expiration_enabled=True).exists()


def test_emptied_ipv6_address_stays(client: Client):
    ipv6_for_all()
    response = changed(client, peer(ipv6="fd00::7"), name="new", ipv6="")
    assert response.status_code == 302, errors_of(response)
    assert Peer.objects.values_list("name", "ipv6").get() == ("new", "fd00::7")


def test_page_shows_groups_and_state(client: Client):
    one = peer("one", country_code="DE")
    group("kitchen", one)

    page = client.get(f"{PEERS}{one.pk}/change/").content.decode()
    form = client.get(f"{PEERS}{one.pk}/change/?edit=1").content.decode()

    assert "<bdi>All</bdi></a>" in page
    assert "<bdi>kitchen</bdi></a>" in page
    assert "DE" in page
    assert "selected>kitchen</option>" in form


def test_deleting_a_user_whose_peer_routes_disables_the_router():
    owner = person("user")
    router = Router(network=network("lab"), peer=peer(user=owner))
    router.save()

    user_delete(user_id=owner.pk)

    router.refresh_from_db()
    assert (router.peer_id, router.enabled) == (None, False)


@pytest.mark.parametrize("query", ["kitchen", "100.64.3", "ann@mesh"])
def test_search_finds_names_addresses_and_owners(client: Client, query: str):
    wanted = peer("kitchen", ip="100.64.3.3", user=person("user", email="ann@mesh.dev"))
    peer("laptop", ip="100.65.0.1")

    found = client.get(PEERS, {"q": query}).context["cl"].result_list

    assert [entry.pk for entry in found] == [wanted.pk]


def test_page_shows_what_the_client_reports(client: Client):
    addresses = [
        {"net_ip": "10.9.0.10/24", "mac": "02:00:00:00:00:0a"},
        {"net_ip": "<b>", "mac": ""},
    ]
    facts: Any = {"go_os": "linux", "platform": "x86_64", "capabilities": [1, 2]}
    one = peer(network_addresses=addresses, **facts)
    page = client.get(f"{PEERS}{one.pk}/change/").content.decode()
    assert "10.9.0.10/24 (02:00:00:00:00:0a)<br>&lt;b&gt; (-)" in page
    assert "x86_64" in page


def test_page_saved_late_keeps_who_is_connected(client: Client):
    one = peer(connected=False)
    path = f"{PEERS}{one.pk}/change/"
    shown = form_data(client, path)
    Peer.objects.filter(pk=one.pk).unaudited_update(connected=True, stream_started=7)
    assert client.post(path, shown | {"name": "new"}).status_code == 302
    one.refresh_from_db()
    assert (one.name, one.connected, one.stream_started) == ("new", True, 7)
