"""The search over everything: who finds what, in which order, at which cost."""

import re
from typing import Any

import pytest
from django.test import Client

from events.models import AuditEvent
from groups.services import group_create
from meshmgmt.accounts.models import AccessToken, User
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.dns.bodies import zone
from tests.events.samples import TRAFFIC_PATH, traffic
from tests.factories import group, peer, peers
from tests.people import api_of, person, token_of
from tests.queries import asking
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

SEARCH = "/admin/search/"
JSON = {"Accept": "application/json"}
MOST_QUERIES = 26
"""Session, user, and one query for each kind of object that has a name or a stream."""


@pytest.fixture
def api(owner: User) -> Api:
    return api_of(owner)


def hits(client: Client, words: str) -> list[dict[str, Any]]:
    """Return what the script of the page is answered."""
    answer = client.post(SEARCH, {"words": words}, headers=JSON)
    assert answer.status_code == 200
    found: list[dict[str, Any]] = answer.json()["hits"]
    return found


def named(client: Client, words: str, kind: str = "") -> list[str]:
    return [x["name"] for x in hits(client, words) if kind in {"", x["kind"]}]


def test_every_kind_of_object_is_found_by_name_and_leads_to_its_page(
    client: Client, api: Api
):
    peer("vega-laptop")
    group("vega group")
    ok(api.post("/api/dns/zones", zone(name="vega zone")))
    person("auditor", email="vega@mesh.dev")
    found = {hit["kind"]: hit for hit in hits(client, "vega")}
    assert found.keys() >= {"Peer", "Group", "Zone", "User"}
    for hit in found.values():
        assert client.get(hit["url"]).status_code == 200, hit


def test_a_peer_is_found_by_its_address_before_those_whose_addresses_hold_it(
    client: Client,
):
    for last in (11, 12, 13, 14, 15, 16, 1):
        peer(f"no {last}", ip=f"100.90.1.{last}")
    assert named(client, "100.90.1.1", "Peer")[0] == "no 1"


def test_an_exact_name_stands_before_all_that_only_have_it(client: Client):
    for name in ("a db", "db-1 replica", "my db-1", "old db-1", "db-11", "db-1"):
        group_create(name=name)
    peer("of db-1")
    assert named(client, "DB-1")[:3] == ["db-1", "db-1 replica", "db-11"]


def test_ids_of_objects_and_events_lead_to_them(client: Client, api: Api):
    found = group("by id")
    event = AuditEvent.objects.latest("id")
    ok(api.post(TRAFFIC_PATH, [traffic(id="flow-77")]))
    assert named(client, found.pk, "Group") == ["by id"]
    page = f"/admin/events/auditevent/{event.pk}/change/"
    assert hits(client, str(event.pk))[0]["url"] == page
    urls = [x["url"].replace("_2D", "-") for x in hits(client, "flow-77")]
    assert "/admin/events/trafficevent/flow-77/change/" in urls


@pytest.mark.parametrize("words", ["9" * 40, "\u0663", *"%_\\", "'\"--", "\0a\0"])
def test_odd_words_are_only_words(client: Client, words: str):
    peer("plain")
    assert "plain" not in named(client, words, "Peer")


def test_pages_and_additions_are_found_by_their_words(client: Client):
    assert named(client, "zones")[0] == "Zones"
    assert named(client, "add zone")[0] == "Add zone"
    assert "Explain a look-up" in named(client, "look explain")
    assert named(client, "", "Page")[0] == "Overview"


def test_a_record_is_added_to_a_zone_that_is_named(client: Client, api: Api):
    made = ok(api.post("/api/dns/zones", zone(name="plant", domain="plant.dev")))
    [hit] = [x for x in hits(client, "add record to plant") if x["kind"] == "Action"]
    assert hit["name"].startswith("Add record to plant")
    form = client.get(hit["url"]).context["adminform"].form
    assert form["zone"].value() == made["id"]


def test_something_is_deleted_or_revoked_from_its_name(client: Client, owner: User):
    made = group("old office")
    token_of(owner)
    [hit] = [x for x in hits(client, "delete old off") if x["kind"] == "Action"]
    assert hit["url"] == f"/admin/groups/group/{made.pk}/delete/"
    assert hit["name"] == "Delete group old office"
    path = f"/admin/accounts/accesstoken/{AccessToken.objects.get().pk}/delete/"
    assert path in [x["url"] for x in hits(client, "revoke test")]


@pytest.mark.slow
@pytest.mark.parametrize("role", ["network_admin", "auditor"])
def test_nobody_finds_what_they_may_not_open(role: str, owner: User):
    peer("vega")
    token_of(owner)
    client = client_of(person(role))
    deeds = ("add", "delete vega", "revoke test", "add record to ve")
    words = ("", "e", "es", "test", "vega", *deeds)
    for url in sorted({hit["url"] for each in words for hit in hits(client, each)}):
        assert client.get(url, follow=True).status_code == 200, url
    assert not named(client, "test", "Access token")
    if role == "auditor":  # may change nothing but tokens of their own
        assert set(named(client, "add", "Action")) == {"Add access token"}
        assert not named(client, "delete vega", "Action")


def test_who_is_not_signed_in_finds_nothing():
    answer = Client().post(SEARCH, {"words": "a"}, headers=JSON)
    assert answer.status_code == 302
    assert client_of(person("user")).get(SEARCH).status_code == 302


def test_a_pasted_secret_leads_to_its_token_and_into_no_address(
    client: Client, owner: User
):
    plain = token_of(owner)
    page = f"/admin/accounts/accesstoken/{AccessToken.objects.get().pk}/change/"
    assert [x["url"] for x in hits(client, f"Token {plain}")] == [page]
    assert client.post(SEARCH, {"words": plain})["Location"] == page
    others = client_of(person("auditor"))
    assert hits(others, plain) == []


def test_names_of_others_are_shown_as_text_and_hide_nothing(client: Client):
    group_create(name="vega <b>\u202e")
    page = client.post(SEARCH, {"words": "vega"}).content.decode()
    assert "vega &lt;b&gt;\\u202e" in page
    assert "<b>" not in page
    assert named(client, "vega", "Group") == ["vega <b>\\u202e"]


def test_without_a_script_the_page_lists_what_is_found(client: Client):
    made = group("vega")
    assert f'href="{SEARCH}"' in client.get("/admin/").content.decode()
    page = client.post(SEARCH, {"words": "vega"}).content.decode()
    found = re.search(r'<ul class="hits">(.*?)</ul>', page, re.DOTALL)
    assert found
    assert f'href="/admin/groups/group/{made.pk}/change/"' in found[1]
    nothing = client.post(SEARCH, {"words": "no such thing"}).content.decode()
    assert "Nothing is called so." in nothing


def test_a_search_asks_as_often_for_many_objects_as_for_few(client: Client):
    peers(3)
    _, few = asking(lambda: hits(client, "peer"))
    peers(60)
    _, many = asking(lambda: hits(client, "peer"))
    assert len(many) == len(few) <= MOST_QUERIES
    peers(60)
    _, asked = asking(lambda: hits(client, "delete peer"))
    assert len(asked) <= 2 * MOST_QUERIES
