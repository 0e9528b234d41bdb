"""`/api/users/{userId}/tokens`."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from events.models import AuditEvent
from meshmgmt.accounts.api.serializers import (
    AccessTokenSerializer,
    NewAccessTokenSerializer,
)
from meshmgmt.accounts.models import AccessToken, User
from tests.api_client import Answer, Api
from tests.people import api_of, person, robot, token_of
from tests.resource_contract import Body, CreatedResourceContract, Fault

pytestmark = pytest.mark.django_db

UNKNOWN = "0" * 20
ROLES = ["owner", "admin", "network_admin", "auditor", "user"]


def path_of(user: User, token_id: str = "") -> str:
    return f"/api/users/{user.pk}/tokens{'/' if token_id else ''}{token_id}"


def create(api: Api, user: User, **body: Any) -> Answer:
    return api.post(path_of(user), {"name": "laptop", "expires_in": 30, **body})


class TestTokens(CreatedResourceContract):
    required = ("name", "expires_in")
    created_codes = ("personal.access.token.create",)
    deleted_codes = ("personal.access.token.delete",)
    most_queries = 3  # caller, owner of the tokens, tokens

    def make_path(self) -> str:
        return path_of(robot())

    def body(self, number: int = 1) -> Body:
        return {"name": f"laptop {number}", "expires_in": 30}

    def make(self, api: Api, where: str, number: int = 1) -> Body:
        made: Body = super().make(api, where, number)["personal_access_token"]
        return made

    def target(self, made: Body) -> str:
        return AccessToken.objects.latest("created_at").user_id

    def refused(self) -> Iterator[Fault]:
        for name in ("", " \t", None, "n" * 256, "a\x00b"):
            yield {"name": name}, 422, "name", ""
        for days in (0, -1, 366, None):
            yield {"expires_in": days}, 422, "expires_in", ""
        for wrong in ("30", 1.5, True, 2**63):
            yield {"expires_in": wrong}, 400, "expires_in", ""
        yield {"name": 7}, 400, "name", ""


def test_a_new_token_is_shown_once_and_works() -> None:
    user = person("user")
    answer = create(api_of(user), user)
    assert answer.status == 200
    assert set(answer.json) == set(NewAccessTokenSerializer().fields)
    shown = answer.json["personal_access_token"]
    assert shown["name"] == "laptop"
    assert shown["created_by"] == user.pk
    assert "last_used" not in shown
    life = dt.datetime.fromisoformat(shown["expiration_date"])
    life_days = life - dt.datetime.fromisoformat(shown["created_at"])
    assert life_days == dt.timedelta(days=30)
    plain = answer.json["plain_token"]
    mine = Api(plain)
    assert mine.get(path_of(user, shown["id"])).json["id"] == shown["id"]
    listed = mine.get(path_of(user)).body.decode()
    assert plain not in listed
    assert AccessToken.objects.get(pk=shown["id"]).hash not in listed


def test_last_used_appears_with_the_first_use() -> None:
    user = person("user")
    plain = token_of(user)
    row = Api(plain).get(path_of(user)).json[0]
    assert set(row) == set(AccessTokenSerializer().fields)
    assert row["last_used"].endswith("Z")


@pytest.mark.parametrize(
    ("make", "role"),
    [(person, role) for role in ROLES] + [(robot, role) for role in ROLES[1:]],
)
def test_every_user_manages_their_own_tokens(role: str, make: Any) -> None:
    user = make(role)
    api = api_of(user)
    made = create(api, user).json["personal_access_token"]
    assert len(api.get(path_of(user)).json) == 2
    assert api.get(path_of(user, made["id"])).status == 200
    gone = api.call("DELETE", path_of(user, made["id"]))
    assert (gone.status, gone.json) == (200, {})
    assert len(api.get(path_of(user)).json) == 1


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("make", [person, robot])
def test_tokens_of_others(role: str, make: Any) -> None:
    """Owners and admins manage those of service users; nobody those of people."""
    other = make("user")
    token_of(other)
    token_id = AccessToken.objects.get().pk
    api = api_of(person(role))
    status = 200 if make is robot and role in {"owner", "admin"} else 403
    assert api.get(path_of(other)).status == status
    assert api.get(path_of(other, token_id)).status == status
    assert create(api, other).status == status
    assert api.call("DELETE", path_of(other, token_id)).status == status
    left = set(AccessToken.objects.filter(user=other).values_list("pk", flat=True))
    assert (token_id in left) is (status == 403)


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_foreign_token_under_the_own_path_is_not_found(method: str) -> None:
    user, other = person("admin"), robot()
    token_of(other)
    foreign = AccessToken.objects.get().pk
    assert api_of(user).call(method, path_of(user, foreign)).status == 404
    assert AccessToken.objects.filter(pk=foreign).exists()


def test_names_need_not_differ_and_come_back_as_sent() -> None:
    user = person("user")
    api = api_of(user)
    for days in (1, 365):
        made = create(api, user, name=" né\n ", expires_in=days)
        assert made.json["personal_access_token"]["name"] == " né\n "


def test_creation_and_revocation_are_audited() -> None:
    owner, machine = person("owner", name="Ann"), robot(name="ci")
    api = api_of(owner)
    made = create(api, machine).json["personal_access_token"]
    body_is_ignored = api.call("DELETE", path_of(machine, made["id"]), b"{")
    assert body_is_ignored.status == 200
    events = AuditEvent.objects.filter(target_id=machine.pk).order_by("id")
    _, created, deleted = events
    assert created.activity_code == "personal.access.token.create"
    assert deleted.activity_code == "personal.access.token.delete"
    for event in (created, deleted):
        assert event.meta == {
            "id": made["id"],
            "name": "laptop",
            "user_name": "ci",
            "username": "ci",
            "email": "",
            "is_service_user": "true",
        }
        assert event.initiator_id == owner.pk
    assert deleted.changes["hash"] == {"before": "changed", "after": None}
