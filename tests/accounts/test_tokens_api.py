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
from tests.resource_contract import ABSENT, Answered, Body, Fault, SecretContract

pytestmark = pytest.mark.django_db

UNKNOWN = "0" * 20
ROLES = ["owner", "admin", "network_admin", "auditor", "user"]


def path_of(user: User, token_id: str = "") -> str:
    return f"/api/users/{user.pk}/tokens{'/' if token_id else ''}{token_id}"


def create(api: Api, user: User, **body: Any) -> Answer:
    return api.post(path_of(user), {"name": "laptop", "expires_in": 30, **body})


class TestTokens(SecretContract):
    required = ("name", "expires_in")
    created_codes = ("personal.access.token.create",)
    deleted_codes = ("personal.access.token.delete",)
    most_queries = 3  # caller, owner of the tokens, tokens
    filled_in = frozenset({"id", "created_at", "created_by", "expiration_date"})
    secret = "plain_token"
    form = "mpt_[0-9A-Za-z]{36}"

    def make_path(self) -> str:
        return path_of(robot())

    def body(self, number: int = 1) -> Body:
        return {"name": f"laptop {number}", "expires_in": 30}

    def create(self, api: Api, where: str, body: Body) -> Body:
        made: Body = super().create(api, where, body)["personal_access_token"]
        return made

    def target(self, made: Body) -> str:
        return AccessToken.objects.latest("created_at").user_id

    def answered(self) -> Iterator[Answered]:
        for days in (1, 365):  # names need not differ
            yield {"name": " né\n ", "expires_in": days}, {"expires_in": ABSENT}

    def told(self, made: Body) -> dict[str, Body]:
        about = {
            "id": made["id"],
            "name": "laptop 1",
            "user_name": "robot",
            "username": "robot",
            "email": "",
            "is_service_user": "true",
        }
        return dict.fromkeys((*self.created_codes, *self.deleted_codes), about)

    def refused(self) -> Iterator[Fault]:
        for name in ("", " \t", None, "n" * 256, "a\x00b"):
            yield {"name": name}, 422, "name", ""
        for days in (0, -1, 366, None):
            yield {"expires_in": days}, 422, "expires_in", ""
        for wrong in ("30", 1.5, True, 2**63):
            yield {"expires_in": wrong}, 400, "expires_in", ""
        yield {"name": 7}, 400, "name", ""


def test_a_new_token_lives_its_days_and_works():
    user = person("user")
    answer = create(api_of(user), user)
    assert answer.status == 200
    assert set(answer.json) == set(NewAccessTokenSerializer().fields)
    shown = answer.json["personal_access_token"]
    assert shown["created_by"] == user.pk
    ends, begins = (shown[each] for each in ("expiration_date", "created_at"))
    life = dt.datetime.fromisoformat(ends) - dt.datetime.fromisoformat(begins)
    assert life == dt.timedelta(days=30)
    mine = Api(answer.json["plain_token"])
    assert mine.get(path_of(user, shown["id"])).json["id"] == shown["id"]


def test_last_used_appears_with_the_first_use():
    user = person("user")
    plain = token_of(user)
    row = Api(plain).get(path_of(user)).json[0]
    assert set(row) == set(AccessTokenSerializer().fields)
    assert row["last_used"].endswith("Z")


@pytest.mark.parametrize(
    ("make", "role"),
    [(person, role) for role in ROLES] + [(robot, role) for role in ROLES[1:]],
)
def test_every_user_manages_their_own_tokens(role: str, make: Any):
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
def test_tokens_of_others(role: str, make: Any):
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
def test_a_foreign_token_under_the_own_path_is_not_found(method: str):
    user, other = person("admin"), robot()
    token_of(other)
    foreign = AccessToken.objects.get().pk
    assert api_of(user).call(method, path_of(user, foreign)).status == 404
    assert AccessToken.objects.filter(pk=foreign).exists()


def test_a_body_is_ignored_and_the_hash_masked_when_a_token_goes():
    owner, machine = person("owner", name="Ann"), robot()
    api = api_of(owner)
    made = create(api, machine).json["personal_access_token"]
    assert api.call("DELETE", path_of(machine, made["id"]), b"{").status == 200
    deleted = AuditEvent.objects.latest("id")
    assert (deleted.initiator_id, deleted.target_id) == (owner.pk, machine.pk)
    assert deleted.changes["hash"] == {"before": "changed", "after": None}
