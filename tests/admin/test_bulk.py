"""Actions over many objects: one preview of all of it, then all or nothing."""

import re
from typing import Any

import pytest
from django.contrib import admin
from django.db.models import Model
from django.test import Client

from dns.models import NameserverGroup, Zone
from events.models import AuditEvent
from meshmgmt.access.models import Policy, Route, Router, SetupKey
from meshmgmt.accesstests.models import AccessTest
from meshmgmt.accounts.models import User
from meshmgmt.adminsite.bulk import SWITCH
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.services import subscription_create
from meshmgmt.inventory.models import NetworkResource, Peer
from tests.admin.signed_in import client_of, texts_of
from tests.admin.test_search import hits
from tests.demo.test_seed import seed
from tests.factories import Trail, changed, group, peer, peers, rule, setup_key
from tests.people import person
from tests.queries import asking

pytestmark = pytest.mark.django_db

SWITCHED: list[Any] = [
    *(AccessTest, NameserverGroup, NetworkResource, Policy, Route),
    *(Router, Subscription, Zone),
]
USERS = "/admin/accounts/user/"
POLICIES = "/admin/access/policy/"
PEERS = "/admin/inventory/peer/"


def chosen(action: str, *rows: Model) -> dict[str, Any]:
    return {"action": action, "_selected_action": [row.pk for row in rows]}


def said(page: Any) -> str:
    assert page.status_code == 200
    text: str = page.content.decode()
    content = text.partition('<div id="content"')[2]
    return " ".join(re.sub(r"<[^>]+>", " ", content).split())


def test_more_than_500_at_once_are_refused_before_anything_is_tried(client: Client):
    form = chosen("block", *peers(501)[:1]) | {"select_across": "1"}
    told, trail = "choose at most 500 at once", Trail()
    assert told in texts_of(client.post(PEERS, form))
    form["action"] = "delete_selected"
    for sent in (form, form | {"post": "yes"}):
        assert told in said(client.post(PEERS, sent))
    assert trail.codes == []


def test_the_pages_of_everything_with_a_switch_turn_it():
    with_switch = {
        model
        for model, pages in admin.site._registry.items()
        if getattr(pages, "bulk", ()) == SWITCH
    }
    assert with_switch == set(SWITCHED)


def test_everything_with_a_switch_is_switched_off_and_on_and_keeps_the_rest(
    client: Client,
):
    seed("--profile", "demo")
    target = {"type": "syslog", "host": "192.0.2.1", "port": 1, "tls": False}
    subscription_create(name="s", stream="audit", target=target)
    for model in SWITCHED:
        meta = model._meta
        row = model._default_manager.filter(enabled=True)[0]
        before = model._default_manager.filter(pk=row.pk).values()[0]
        path = f"/admin/{meta.app_label}/{meta.model_name}/"
        for action, enabled in (("disable", False), ("enable", True)):
            done = client.post(path, {**chosen(action, row), "post": "yes"})
            assert done.status_code == 302, (model, said(done))
            row.refresh_from_db()
            assert row.enabled is enabled, model
        after = model._default_manager.filter(pk=row.pk).values()[0]
        moved = {name for name in after if after[name] != before[name]}
        assert moved <= {"updated_at", "checked_at", "state", "revision"}, model


def test_the_page_before_says_what_happens_and_nothing_has(client: Client):
    on = rule([group("a")], [group("b")]).policy
    off = changed(rule([], []).policy, enabled=False)
    trail = Trail()

    text = said(client.post(POLICIES, chosen("disable", on, off)))

    assert f"policy {on.name} : will be disabled" in text
    assert off.name not in text
    assert "1 of the chosen stays as it is" in text
    assert trail.codes == []
    on.refresh_from_db()
    assert on.enabled


def test_a_confirmed_action_is_one_write_with_its_events(client: Client):
    policies = [rule([], []).policy for _ in range(3)]
    trail = Trail()

    done = client.post(POLICIES, {**chosen("disable", *policies), "post": "yes"})

    assert "3 policies disabled." in texts_of(done)
    assert trail.codes == ["policy.update"] * 3
    assert len({event.request_id for event in trail.events}) == 1


def test_what_one_of_them_refuses_stops_all(client: Client):
    ann = person("user", name="ann")
    [owner] = User.objects.filter(role="owner")
    both = chosen("block", ann, owner)

    assert "Nothing can be blocked" in said(client.post(USERS, both))
    client.post(USERS, {**both, "post": "yes"})

    assert not User.objects.filter(is_blocked=True).exists()


def test_people_are_blocked_and_unblocked_together(client: Client):
    people = [person("user"), person("auditor")]
    for action, code in (("block", "user.block"), ("unblock", "user.unblock")):
        trail = Trail()
        done = client.post(USERS, {**chosen(action, *people), "post": "yes"})
        assert f"2 users {action}ed." in texts_of(done)
        assert trail.codes == [code] * 2


def test_one_is_done_from_a_page_of_its_own_that_the_search_leads_to(client: Client):
    ann = person("user", email="ann@mesh.dev")
    found, path = hits(client, "block ann"), f"{USERS}{ann.pk}/block/"
    assert [(x["name"], x["url"]) for x in found] == [("Block user ann@mesh.dev", path)]

    assert "will be blocked" in said(client.get(path))
    assert not User.objects.get(pk=ann.pk).is_blocked
    done = client.post(path, {"post": "yes"})

    assert done["Location"] == f"{USERS}{ann.pk}/change/"
    assert User.objects.get(pk=ann.pk).is_blocked
    assert "Nothing is left to be blocked" in said(client.get(path))


def test_keys_are_revoked_and_peers_approved_and_blocked_together(client: Client):
    keys = [setup_key(name) for name in ("a", "b")]
    sent = {**chosen("revoke", *keys), "post": "yes"}
    client.post("/admin/access/setupkey/", sent)
    assert SetupKey.objects.filter(revoked=True).count() == 2
    waiting = [peer(approval_required=True) for _ in range(2)]
    told = {"approve": "will be approved", "block": "will wait for approval"}
    for action, number in (("approve", 0), ("block", 2)):
        sent = chosen(action, *waiting)
        assert told[action] in said(client.post(PEERS, sent))
        client.post(PEERS, {**sent, "post": "yes"})
        assert Peer.objects.filter(approval_required=True).count() == number


@pytest.mark.parametrize("role", ["network_admin", "auditor"])
def test_who_may_not_change_users_cannot_block_them(role: str):
    ann, reader = person("user"), client_of(person(role))
    events = AuditEvent.objects.count()
    page = reader.get(USERS)
    pages = page.context["cl"].model_admin
    assert "block" not in pages.get_actions(page.wsgi_request)
    for sent in ({}, {"post": "yes"}):
        assert reader.post(f"{USERS}{ann.pk}/block/", sent).status_code == 403
    reader.post(USERS, {**chosen("block", ann), "post": "yes"})
    assert not User.objects.get(pk=ann.pk).is_blocked
    assert AuditEvent.objects.count() == events


def test_a_preview_of_many_asks_for_each_what_its_service_asks(client: Client):
    def asked(number: int) -> int:
        sent = chosen("disable", *(rule([], []).policy for _ in range(number)))
        return len(asking(lambda: client.post(POLICIES, sent))[1])

    few, many = asked(4), asked(12)
    assert many < 3 * few
