"""Rotation: another secret with the same rights, while the old one ends."""

import datetime as dt
import re
from typing import Any

import pytest
from django.test import Client

from meshmgmt.access.models import SetupKey, SetupKeyAutoGroup
from meshmgmt.access.services.enrolment import setup_keys, usable_setup_key
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.services.proxies import proxy_tokens
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import member_keys
from tests.admin.signed_in import client_of, texts_of
from tests.api_client import Api
from tests.factories import Trail, group, setup_key
from tests.people import person, robot, token_of

pytestmark = pytest.mark.django_db

TOKENS = "/admin/accounts/accesstoken/"
KEYS = "/admin/access/setupkey/"
PROXIES = "/admin/control/proxytoken/"
DAY = dt.timedelta(days=1)
SOON = dt.timedelta(minutes=5)


def rotated(client: Client, path: str, ends: str = "later") -> str:
    """Rotate what is at a path; return the secret that the next page shows."""
    assert "24 hours" in client.get(f"{path}rotate/").content.decode()
    done = client.post(f"{path}rotate/", {"ends": ends})
    assert done.status_code == 302
    found = re.search(r"<code>(.+?)</code>", texts_of(done))
    assert found
    return found[1]


def works(plain: str) -> bool:
    return Api(plain).get("/api/users/current").status == 200


def in_a_day(moment: Any) -> bool:
    return bool(abs(moment - (clock.now() + DAY)) < SOON)


def test_both_tokens_work_for_a_day_with_the_same_rights(client: Client, owner: User):
    plain = token_of(owner, days=90)
    old = AccessToken.objects.get()
    trail = Trail()

    made = rotated(client, f"{TOKENS}{old.pk}/")

    assert works(plain)
    assert works(made)
    new = AccessToken.objects.exclude(pk=old.pk).get()
    old.refresh_from_db()
    assert (new.name, new.user, new.scope) == (old.name, old.user, old.scope)
    assert abs(new.expires_at - new.created_at - 90 * DAY) < SOON
    assert in_a_day(old.expires_at)
    codes = ["personal.access.token.create", "personal.access.token.update"]
    assert sorted(trail.codes) == codes
    assert len({event.request_id for event in trail.events}) == 1
    assert all(made not in str(vars(event)) for event in trail.events)


def test_a_leaked_token_ends_at_once(client: Client, owner: User):
    plain = token_of(owner)
    made = rotated(client, f"{TOKENS}{AccessToken.objects.get().pk}/", "now")
    assert not works(plain)
    assert works(made)
    assert AccessToken.objects.count() == 1


def test_what_ends_sooner_is_not_made_to_live_longer(client: Client, owner: User):
    token_of(owner, days=1)
    old = AccessToken.objects.get()
    before = old.expires_at
    rotated(client, f"{TOKENS}{old.pk}/")
    rotated(client, f"{TOKENS}{old.pk}/")
    old.refresh_from_db()
    assert old.expires_at <= before
    assert all(x.expires_at > clock.now() for x in AccessToken.objects.all())


def test_a_scope_and_a_robot_keep_their_token_narrow(client: Client):
    machine = robot()
    token_of(machine, scope="ingest")
    rotated(client, f"{TOKENS}{AccessToken.objects.get().pk}/")
    found = {(token.scope, token.user) for token in AccessToken.objects.all()}
    assert found == {("ingest", machine)}


@pytest.mark.parametrize("expires_in", [0, 30 * 86400])
@pytest.mark.parametrize("kind", ["reusable", "one-off"])
def test_a_setup_key_is_rotated_with_its_groups_and_limits(
    client: Client, kind: str, expires_in: int
):
    terms = {"type": kind, "expires_in": expires_in, "ephemeral": True}
    groups, limit = [group("a").pk, group("b").pk], 7 if kind == "reusable" else 1
    old = setup_key("ci", auto_groups=groups, usage_limit=limit, **terms)

    new = usable_setup_key(rotated(client, f"{KEYS}{old.pk}/"))

    kept = ("name", "type", "usage_limit", "ephemeral", "allow_extra_dns_labels")
    stored = SetupKey.objects.get(pk=old.pk)
    assert [getattr(new, x) for x in kept] == [getattr(stored, x) for x in kept]
    for key in (new, stored):
        assert list(member_keys(SetupKeyAutoGroup, key)) == groups
    assert usable_setup_key(old.plain).pk == stored.pk
    assert in_a_day(stored.expires_at)
    life = new.expires_at and round((new.expires_at - new.created_at).total_seconds())
    assert (life or 0) == expires_in


@pytest.mark.parametrize("before", [False, True])
def test_a_leaked_setup_key_is_revoked_at_once_and_stays_so(
    client: Client, before: bool
):
    old = setup_key("ci")
    trail = Trail()
    setup_keys.update(old.pk, {"revoked": before})
    assert usable_setup_key(rotated(client, f"{KEYS}{old.pk}/", "now")).pk != old.pk
    old.refresh_from_db()
    assert old.revoked
    assert sorted(trail.codes) == ["setupkey.add", "setupkey.revoke"]


@pytest.mark.parametrize("days", [0, 40])
def test_a_proxys_token_is_rotated(client: Client, days: int):
    old = proxy_tokens.create({"name": "edge", "expires_in": days})
    assert rotated(client, f"{PROXIES}{old.pk}/").startswith("nbx_")
    new = ProxyToken.objects.exclude(pk=old.pk).get()
    assert new.name == "edge"
    assert (new.expires_at is None) == (days == 0)
    old.refresh_from_db()
    assert in_a_day(old.expires_at)


@pytest.mark.parametrize("role", ["admin", "network_admin", "auditor"])
def test_nobody_rotates_what_is_not_theirs_to_give(role: str, owner: User):
    token_of(owner)
    others = client_of(person(role))
    path = f"{TOKENS}{AccessToken.objects.get().pk}/rotate/"
    assert others.get(path).status_code == 403
    assert others.post(path, {"ends": "now"}).status_code == 403
    if role != "admin":
        key = setup_key("k")
        assert others.post(f"{KEYS}{key.pk}/rotate/").status_code == 403
        page = others.get(f"{KEYS}{key.pk}/change/").content.decode()
        assert "/rotate/" not in page
    assert AccessToken.objects.count() == 1


def test_an_owner_takes_over_nobodys_token(client: Client):
    """They may revoke one; another in its owner's name is not theirs to hold."""
    token_of(person("admin"))
    path = f"{TOKENS}{AccessToken.objects.get().pk}/rotate/"
    done = client.post(path, {"ends": "now"}, follow=True)
    assert "people manage their tokens themselves" in done.content.decode()
    assert AccessToken.objects.count() == 1
