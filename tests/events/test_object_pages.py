"""The audit explorer finds the pages of objects that events name in other ways."""

import re

import pytest
from django.test import RequestFactory
from django.urls import reverse

from dns.services.nameservers import dns_settings_update
from events.admin.objectpages import ObjectPage, ObjectPages
from events.models import AuditEvent
from groups.services import group_create
from meshmgmt.accounts.models import User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.core.context import account_id
from meshmgmt.core.queries import MOST_PARAMETERS
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_update
from tests.admin.signed_in import client_of
from tests.factories import newest_event, peer, peers
from tests.people import person

pytestmark = pytest.mark.django_db


@pytest.fixture
def pages(rf: RequestFactory, owner: User) -> ObjectPages:
    """What finds pages that the owner may see."""
    request = rf.get("/admin/")
    request.user = owner
    return ObjectPages(request)


def links_of(event: AuditEvent, viewer: User) -> list[str]:
    """Return the addresses that the page of an event leads to."""
    client = client_of(viewer)
    path = reverse("admin:events_auditevent_change", args=[event.pk])
    return re.findall(r'href="([^"]+)"', client.get(path).content.decode())


def is_of(page: ObjectPage | None, peer: Peer) -> bool:
    url = reverse("admin:inventory_peer_change", args=[peer.pk])
    return page is not None and page.url == url


def test_an_event_of_the_dns_settings_leads_to_them_and_back(owner: User):
    group = group_create(name="own resolvers")
    dns_settings_update(disabled_management_groups=[group.pk])
    event = AuditEvent.objects.latest("id")
    assert (event.target_type, event.target_id) == ("dnssettings", account_id())
    settings = reverse("admin:dns_dnssettings_change", args=[1])
    assert settings in links_of(event, owner)
    client = client_of(owner)
    back = f"?search={account_id()}"
    assert back in client.get(settings).content.decode()


def test_events_of_a_token_that_is_gone_lead_to_its_user(owner: User):
    token = access_tokens.create({"name": "cli", "expires_in": 1}, owner.pk)
    made = AuditEvent.objects.latest("id")
    assert made.changes["id"] == {"before": None, "after": token.pk}
    access_tokens.delete(token.pk)
    gone = AuditEvent.objects.latest("id")
    assert gone.changes["id"] == {"before": token.pk, "after": None}
    user = reverse("admin:accounts_user_change", args=[owner.pk])
    assert user in links_of(made, owner)
    assert user in links_of(gone, owner)


def test_objects_that_the_viewer_may_not_see_are_not_linked(owner: User):
    token = access_tokens.create({"name": "cli", "expires_in": 1}, owner.pk)
    event = AuditEvent.objects.latest("id")
    page = reverse("admin:accounts_accesstoken_change", args=[token.pk])
    assert page in links_of(event, owner)
    assert page not in links_of(event, person("auditor"))


def test_a_peer_is_found_by_its_address(pages: ObjectPages):
    one = peer("laptop")
    event = AuditEvent(id=1, target_type="peer", target_id=one.ip)
    assert is_of(pages.of_event(event), one)


@pytest.mark.usefixtures("wide_range")
def test_who_has_an_address_by_now_is_not_taken_for_who_had_it(pages: ObjectPages):
    before = peer("laptop", ip="100.64.7.1")
    peer_update(peer_id=before.pk, ssh_enabled=True)
    event = newest_event()
    assert event.target_id == "100.64.7.1"
    peer_update(peer_id=before.pk, ip="100.64.7.2")
    peer("another", ip="100.64.7.1")
    assert is_of(pages.of_event(event), before)


@pytest.mark.usefixtures("few_parameters")
@pytest.mark.sqlite
def test_more_objects_are_found_than_a_statement_can_name(pages: ObjectPages):
    ids = {one.pk for one in peers(MOST_PARAMETERS + 1)}
    assert pages.of_ids(ids).keys() == ids


@pytest.mark.parametrize("kind", ["peer", "peers", "auto_groups", ""])
def test_the_id_alone_finds_an_object_whatever_the_events_type_says(
    pages: ObjectPages, kind: str
):
    one = peer("laptop")
    event = AuditEvent(target_type=kind, target_id=one.pk)
    assert is_of(pages.of_event(event), one)


@pytest.mark.parametrize(
    ("kind", "target"),
    [("peer", "100.64.0.10"), ("peer", "0" * 20), ("dnssettings", "x"), ("", "")],
)
def test_what_does_not_exist_has_no_page(pages: ObjectPages, kind: str, target: str):
    event = AuditEvent(id=1, target_type=kind, target_id=target)
    assert pages.of_event(event) is None
