"""Reading peers over HTTP: fields, filters, visibility, queries."""

from collections.abc import Callable
from typing import Any

import pytest

from groups.selectors import all_group_id
from meshmgmt.core import clock
from meshmgmt.inventory.api import PeerSerializer
from meshmgmt.inventory.selectors import peer_rows
from tests.api_client import Api
from tests.factories import Trail, account_settings, group, peer, peers
from tests.people import api_as, api_of, person
from tests.resource_contract import ok, refusal

pytestmark = pytest.mark.django_db

TOKEN = 1
"""The query that finds the token with its user."""
FLAGS = """
rosenpass_enabled rosenpass_permissive server_ssh_allowed disable_client_routes
disable_server_routes disable_dns disable_firewall block_lan_access block_inbound
lazy_connection_enabled
"""


@pytest.fixture
def api() -> Api:
    return api_as("auditor")


def test_peer_has_every_field_that_clients_know(api: Api):
    owner = person("user")
    moment = clock.now()
    kept = {"ip": "100.64.7.1", "ipv6": "fd00::7", "os": "Debian 12", "connected": True}
    kept |= {"disapproval_reason": "old client", "approval_required": True}
    more = {"dns_label": "laptop", "extra_dns_labels": ["www"], "user": owner}
    flags = {"disable_dns": True}
    one = peer("laptop", **kept, **more, local_flags=flags, last_seen=moment)
    team = group("team", one, resources=[("r", "host")])

    shown = ok(api.get(f"/api/peers/{one.pk}"))

    everybody = {"id": all_group_id(), "name": "All", "peers_count": 1}
    texts = ("connection_ip", "kernel_version", "version", "hostname", "ui_version")
    assert shown == {
        "id": one.pk,
        "name": "laptop",
        **kept,
        **dict.fromkeys((*texts, "country_code", "city_name", "serial_number"), ""),
        "last_seen": clock.rfc3339(moment),
        "geoname_id": 0,
        "groups": [
            {**everybody, "resources_count": 0},
            {"id": team.pk, "name": "team", "peers_count": 1, "resources_count": 1},
        ],
        "ssh_enabled": False,
        "user_id": owner.pk,
        "dns_label": "laptop.mesh.internal",
        "extra_dns_labels": ["www.mesh.internal"],
        "login_expiration_enabled": False,
        "login_expired": False,
        "last_login": "0001-01-01T00:00:00Z",
        "inactivity_expiration_enabled": False,
        "ephemeral": False,
        "created_at": clock.rfc3339(one.created_at),
        "local_flags": dict.fromkeys(FLAGS.split(), False) | flags,
    }
    listed = ok(api.get("/api/peers"))
    assert listed == [{**shown, "accessible_peers_count": 0}]


def test_list_is_in_the_order_of_creation(api: Api):
    assert api.get("/api/peers").json == []
    made = peers(5)
    assert [row["id"] for row in api.get("/api/peers").json] == [p.pk for p in made]


def test_what_is_not_known_of_a_peer_is_left_out_or_empty(api: Api):
    row = api.get(f"/api/peers/{peer().pk}").json

    assert "ipv6" not in row
    assert "disapproval_reason" not in row
    assert (row["user_id"], row["connection_ip"]) == ("", "")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name=WEB", ["Web-1", "web-2"]),
        ("name=ÄRGER", ["ärger"]),
        ("name=eb-1", ["Web-1"]),
        ("name=%25", []),
        ("name=_", []),
        ("name=nobody", []),
        ("name=", ["Web-1", "web-2", "ärger"]),
        ("ip=100.64.9.1", ["Web-1", "web-2"]),
        ("ip=fd00::a", ["ärger"]),
        ("ip=100.64.9.1&name=2", ["web-2"]),
        ("name=%00", []),
    ],
)
def test_filters_look_for_a_part(api: Api, query: str, names: list[str]):
    peer("Web-1", ip="100.64.9.1")
    peer("web-2", ip="100.64.9.12")
    peer("ärger", ip="100.64.8.3", ipv6="fd00::a1")

    assert [row["name"] for row in ok(api.get(f"/api/peers?{query}"))] == names


def test_users_who_may_not_read_peers_see_their_own():
    account_settings(regular_users_view_blocked=False)
    owner, other = person("user"), person("user")
    mine, theirs, nobodys = peer(user=owner), peer(user=other), peer()
    api = api_of(owner)

    assert [row["id"] for row in api.get("/api/peers").json] == [mine.pk]
    assert api.get(f"/api/peers/{mine.pk}").status == 200
    for hidden in (theirs, nobodys):
        answer = api.get(f"/api/peers/{hidden.pk}")
        assert refusal(answer, 404) == f"peer {hidden.pk!r} was not found"


def test_account_may_keep_regular_users_out_altogether():
    owner = person("user")
    mine = peer(user=owner)
    api = api_of(owner)

    assert api.get("/api/peers").json == []
    assert api.get(f"/api/peers/{mine.pk}").status == 404


@pytest.mark.parametrize("size", [1, 20])
def test_number_of_queries_does_not_depend_on_the_data(
    size: int, api: Api, django_assert_num_queries: Callable[[int], Any]
):
    members = peers(size)
    for _ in range(size):
        group("", *members)
    api.get("/api/peers")

    with django_assert_num_queries(TOKEN + 8):
        assert len(api.get("/api/peers").json) == size
    with django_assert_num_queries(TOKEN + 8):
        api.get(f"/api/peers/{members[0].pk}")


def test_many_peers_show_the_same_groups_as_few(monkeypatch: Any):
    members = peers(3)
    group("a", members[0], members[2])
    group("b", members[2])
    admin = person("admin")
    few = peer_rows(admin)
    monkeypatch.setattr("meshmgmt.inventory.selectors.FEW", 2)

    assert peer_rows(admin) == few


def test_rows_have_exactly_the_fields_of_the_schema():
    peer(ipv6="fd00::1", disapproval_reason="why", extra_dns_labels=["x"])
    peer()
    rows = peer_rows(person("admin"))

    assert [PeerSerializer(row).data for row in rows] == rows


def test_deleted_peer_leaves_its_groups_with_events():
    gone, kept = peer("gone"), peer("kept")
    team = group("team", gone, kept, resources=[(gone.pk, "peer")])
    trail, gone_id = Trail(), gone.pk

    gone.delete()

    assert trail.targets == [
        ("peer.group.delete", gone_id),
        ("resource.group.delete", team.pk),
        ("user.peer.delete", gone_id),
    ]
    assert trail.events[0].meta["peer_fqdn"] == f"{gone.dns_label}.mesh.internal"
    assert trail.events[1].meta["resource_name"] == "gone"
