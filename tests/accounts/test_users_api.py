"""`GET /api/users` and `/api/users/current`."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest
from django.utils import timezone

from meshmgmt.accounts import contributions
from meshmgmt.accounts.models import User
from meshmgmt.core.registry import Registry
from meshmgmt.core.roles import MODULES
from tests.factories import account_settings, changed
from tests.people import api_as, api_of, person, robot

pytestmark = pytest.mark.django_db


def test_user_of_a_provider_names_it(settings: Any):
    settings.SVC = dataclasses.replace(settings.SVC, oidc_issuer="https://idp.test")
    owner = person("owner")
    User.objects.filter(pk=owner.pk).unaudited_update(subject="https://idp.test|auth|7")
    api = api_of(owner)
    [provider] = api.get("/api/identity-providers").json
    [row] = api.get("/api/users").json
    assert row["idp_id"] == provider["id"]


def test_a_blocked_user_has_the_status_blocked():
    owner = person("owner")
    changed(person("user"), is_blocked=True)
    row = api_of(owner).get("/api/users").json[1]
    assert (row["status"], row["is_blocked"]) == ("blocked", True)


def test_the_last_login_is_shown():
    owner = person("owner")
    moment = timezone.now().replace(microsecond=0)
    User.objects.filter(pk=owner.pk).unaudited_update(last_login=moment)
    row = api_of(owner).get("/api/users").json[0]
    assert row["last_login"] == moment.isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("make", [person, robot])
@pytest.mark.parametrize("role", ["admin", "network_admin", "auditor", "user"])
def test_roles_that_read_users_see_all_and_others_themselves(role: str, make: Any):
    owner = person("owner")
    user = make(role)
    seen = [row["id"] for row in api_of(user).get("/api/users").json]
    assert seen == ([user.pk] if role == "user" else [owner.pk, user.pk])


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("", [False, True]),
        ("true", [True]),
        ("1", [True]),
        ("T", [True]),
        ("false", [False]),
        ("0", [False]),
        ("False", [False]),
    ],
)
def test_the_service_user_filter(text: str, kinds: list[bool]):
    owner = person("owner")
    robot()
    rows = api_of(owner).get(f"/api/users?service_user={text}").json
    assert [row["is_service_user"] for row in rows] == kinds


@pytest.mark.parametrize("text", ["yes", "2", "tRUE", "%00", "true,false"])
def test_a_bad_service_user_value_is_named(text: str):
    answer = api_as("owner").get(f"/api/users?service_user={text}")
    assert answer.status == 400
    assert answer.json["message"].startswith("service_user:")


def test_the_current_user_with_permissions():
    answer = api_as("auditor").get("/api/users/current")
    permissions = answer.json["permissions"]
    assert permissions["is_restricted"] is False
    assert set(permissions["modules"]) == set(MODULES)
    deeds = ("create", "read", "update", "delete")
    may = {deed: deed == "read" for deed in deeds}
    assert permissions["modules"]["dns"] == may
    assert answer.json["is_current"] is True


def test_a_service_user_may_ask_who_it_is():
    machine = robot("network_admin")
    assert api_of(machine).get("/api/users/current").json["id"] == machine.pk


@pytest.mark.parametrize("blocked", [True, False])
def test_a_plain_user_is_restricted_as_the_account_says(blocked: bool):
    account_settings(regular_users_view_blocked=blocked)
    permissions = api_as("user").get("/api/users/current").json["permissions"]
    assert permissions["is_restricted"] is blocked
    assert not any(any(ops.values()) for ops in permissions["modules"].values())


def test_auto_groups_come_from_above(monkeypatch: pytest.MonkeyPatch):
    owner, user = person("owner"), person("user")
    asked: list[Sequence[str] | None] = []

    def source(ids: Sequence[str] | None) -> dict[str, list[str]]:
        asked.append(ids)
        return {user.pk: ["g2", "g1"]}

    monkeypatch.setattr(contributions, "auto_groups", Registry({"tests": source}))
    rows = api_of(owner).get("/api/users").json
    assert [row["auto_groups"] for row in rows] == [[], ["g2", "g1"]]
    mine = api_of(user).get("/api/users/current").json
    assert mine["auto_groups"] == ["g2", "g1"]
    assert asked == [None, [user.pk]]
