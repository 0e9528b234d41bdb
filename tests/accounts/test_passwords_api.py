"""Choosing a password, over HTTP and at the first sign-in."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.core.management import call_command
from django.test import Client

from meshmgmt.accounts.models import User
from meshmgmt.accounts.rules import new_password, weaknesses
from meshmgmt.accounts.setup.owner import first_owner_create
from meshmgmt.core.ids import new_id
from meshmgmt.core.transactions import write_number
from tests.accounts.test_user_writes_api import PATH, STRONG, ann
from tests.admin.signed_in import client_of
from tests.api_client import Answer, Api
from tests.factories import Trail
from tests.people import api_of, person
from tests.resource_contract import ok, refusal

pytestmark = pytest.mark.django_db

OLD = "an old Password 1"


def change(user: User, old: str, new: str = STRONG) -> Answer:
    """Have somebody change their password over the API."""
    body = {"old_password": old, "new_password": new}
    return api_of(user).put(f"{PATH}/{user.pk}/password", body)


class WatchedHasher(MD5PasswordHasher):
    """Notes for each hash whether an account write was going on."""

    seen: list[bool] = []

    def encode(self, password: str, salt: str) -> str:
        self.seen.append(write_number() != 0)
        return super().encode(password, salt)


@pytest.fixture
def hashed(settings: Any) -> list[bool]:
    settings.PASSWORD_HASHERS = [f"{__name__}.{WatchedHasher.__name__}"]
    WatchedHasher.seen = []
    return WatchedHasher.seen


def by_invite() -> None:
    body = {"email": "i@mesh.dev", "name": "I", "role": "user", "auto_groups": []}
    token = ok(api_of(person()).post("/api/users/invites", body))["invite_token"]
    ok(Api().post(f"/api/users/invites/{token}/accept", {"password": STRONG}))


def by_command() -> None:
    email = person().email
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", io.StringIO(STRONG))
        call_command("users", "set-password", email, "--stdin", stdout=io.StringIO())


def by_form() -> None:
    sent = {"email": "f@mesh.dev", "name": "F", "role": "user", "new_password": STRONG}
    client_of(person()).post("/admin/accounts/user/add/", sent)


WAYS: dict[str, Callable[[], object]] = {
    "made over the API": lambda: ok(api_of(person()).post(PATH, ann())),
    "invited": by_invite,
    "first owner": lambda: first_owner_create(
        email="o@mesh.dev", name="O", password=STRONG
    ),
    "command": by_command,
    "form of the admin site": by_form,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_password_is_hashed_while_others_may_write(
    way: Callable[[], object], hashed: list[bool]
):
    way()
    assert User.objects.exclude(password__startswith="!").count() == 1
    assert hashed == [False]


class TestPassword:
    def test_people_change_their_own(self):
        someone, trail = person("user", password=OLD), Trail()
        assert ok(change(someone, OLD)) == {}
        assert User.objects.get(pk=someone.pk).check_password(STRONG)
        assert trail.targets[-1] == ("user.password.change", someone.pk)
        assert STRONG not in str([event.changes for event in trail.events])

    def test_one_time_password_ends_with_it(self, api: Api):
        made = ok(api.post(PATH, ann()))
        someone, trail = User.objects.get(pk=made["id"]), Trail()
        ok(change(someone, made["password"]))
        assert ok(api.get(f"{PATH}/{someone.pk}"))["status"] == "active"
        assert trail.codes[-1] == "user.password.change"

    @pytest.mark.parametrize(
        ("old", "new", "field", "message"),
        [
            ("x", STRONG, "old_password", "the old password is wrong"),
            (OLD, "Aa1!", "new_password", "a password has 8 to 128 characters"),
            (OLD, "Aa1!" * 40, "new_password", "a password has 8 to 128 characters"),
            (OLD, "Password!", "new_password", "a password needs a digit"),
            (OLD, "passw0rd!", "new_password", "a password needs an upper-case letter"),
            (OLD, "Passw0rds", "new_password", "a password needs a special character"),
            (OLD, OLD, "new_password", "the new password is the old one"),
        ],
    )
    def test_broken_rule_is_refused(self, old: str, new: str, field: str, message: str):
        someone = person("user", password=OLD)
        answer = change(someone, old, new)
        assert (answer.status, answer.fields) == (422, {field: message})
        assert User.objects.get(pk=someone.pk).check_password(OLD)

    def test_nobody_changes_that_of_another(self, api: Api):
        body = {"old_password": "x", "new_password": STRONG}
        for identifier in (person("user").pk, new_id()):
            answer = api.put(f"{PATH}/{identifier}/password", body)
            assert "themselves" in refusal(answer, 403)

    def test_user_without_password_has_none_to_change(self):
        refusal(change(person("user"), "x"), 412)

    def test_made_passwords_are_strong_and_differ(self):
        made = {new_password() for _ in range(100)}
        assert len(made) == 100
        assert not [password for password in made if weaknesses(password)]


class TestFirstSignIn:
    def sign_in(self, email: str, password: str) -> Client:
        client = Client()
        form = {"username": email, "password": password}
        assert client.post("/admin/login/", form).status_code == 302
        return client

    def test_person_has_to_choose_a_password_first(self, api: Api):
        made = ok(api.post(PATH, ann()))
        client = self.sign_in(made["email"], made["password"])
        change = "/admin/password_change/"
        for page in ("/admin/", "/admin/accounts/user/"):
            response = client.get(page)
            assert (response.status_code, response["Location"]) == (302, change)
        assert client.get(change).status_code == 200
        trail = Trail()

        def choose(password: str) -> Any:
            news = dict.fromkeys(("new_password1", "new_password2"), password)
            return client.post(change, {"old_password": made["password"], **news})

        for weak, said in (
            (made["password"], "The new password is the old one."),
            ("qzvmxlowercase", "A password needs a digit."),
        ):
            assert said in choose(weak).content.decode()
            assert trail.codes == []
        assert choose(STRONG).status_code == 302
        assert trail.codes == ["user.password.change"]
        assert client.get("/admin/").status_code == 200
        assert ok(api.get(f"{PATH}/{made['id']}"))["status"] == "active"

    def test_person_with_a_lasting_password_is_not_asked(self):
        someone = person("auditor", password=STRONG)
        assert self.sign_in(someone.email, STRONG).get("/admin/").status_code == 200
