"""Setting up an empty deployment over HTTP, its version, countries."""

import dataclasses
from typing import Any

import pytest

import meshmgmt
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.setup.owner import is_setup_code, setup_code, start_notice
from meshmgmt.api import limits
from meshmgmt.core.rooms import start_notices
from tests.api_client import Api
from tests.factories import Trail, changed
from tests.people import api_as, person
from tests.resource_contract import Body, ok, refusal

pytestmark = pytest.mark.django_db

OWNER = {"email": "ann@mesh.dev", "name": "Ann", "password": "correct horse"}


@pytest.fixture
def nobody() -> Api:
    return Api()


class RemoteApi(Api):
    """A client on another host."""

    def __init__(self, **environ: str) -> None:
        super().__init__()
        self.client.defaults.update({"REMOTE_ADDR": "192.0.2.7", **environ})


def test_empty_deployment_is_brought_up_alone(nobody: Api):
    assert ok(nobody.get("/api/instance")) == {"setup_required": True}
    made = ok(nobody.post("/api/setup", OWNER | {"create_pat": True}))
    owner = User.objects.get()
    assert made == {
        "user_id": owner.pk,
        "email": "ann@mesh.dev",
        "personal_access_token": made["personal_access_token"],
    }
    assert ok(nobody.get("/api/instance")) == {"setup_required": False}
    api = Api(made["personal_access_token"])
    current = ok(api.get("/api/users/current"))
    assert (current["role"], current["status"]) == ("owner", "active")
    created = ok(api.post("/api/groups", {"name": "first"}))
    assert ok(api.get(f"/api/groups/{created['id']}"))["name"] == "first"
    assert owner.check_password("correct horse")


def test_token_is_made_only_when_asked_for(nobody: Api):
    made = ok(nobody.post("/api/setup", OWNER))
    assert set(made) == {"user_id", "email"}
    assert not AccessToken.objects.exists()


def test_events_and_life_of_the_token(nobody: Api):
    trail = Trail()
    asked = {"create_pat": True, "pat_expire_in": 3}
    made = ok(nobody.post("/api/setup", OWNER | asked))
    token = AccessToken.objects.get()
    assert (token.expires_at - token.created_at).days == 3
    assert trail.targets == [
        ("user.create", made["user_id"]),
        ("personal.access.token.create", made["user_id"]),
    ]
    texts = str([(event.changes, event.meta) for event in trail.events])
    assert "correct horse" not in texts
    assert made["personal_access_token"] not in texts


@pytest.mark.parametrize("blocked", [False, True])
def test_setup_is_closed_while_there_is_an_owner(nobody: Api, blocked: bool):
    changed(person("owner"), is_blocked=blocked)
    trail = Trail()
    for answer in (
        nobody.post("/api/setup", OWNER),
        nobody.post("/api/setup", b"no json"),
        RemoteApi().post("/api/setup", OWNER | {"setup_code": setup_code()}),
    ):
        assert "setup already completed" in refusal(answer, 412)
    assert User.objects.count() == 1
    assert trail.codes == []


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"email": ""}, "email", "'' is not an e-mail address"),
        ({"email": "ann"}, "email", "'ann' is not an e-mail address"),
        ({"name": " "}, "name", "the name must not be empty or blank"),
        ({"password": "short"}, "password", "a password has 8 to 72 characters"),
        ({"password": "x" * 73}, "password", "a password has 8 to 72 characters"),
        ({"password": "password"}, "password", "This password is too common."),
        *(
            (
                {"pat_expire_in": x},
                "pat_expire_in",
                f"a token lives 1 to 365 days, not {x}",
            )
            for x in (0, 366)
        ),
    ],
)
def test_broken_rule_is_refused(nobody: Api, changes: Body, field: str, message: str):
    trail = Trail()
    answer = nobody.post("/api/setup", OWNER | {"create_pat": True} | changes)
    assert (answer.status, answer.fields) == (422, {field: message})
    assert not User.objects.exists()
    assert trail.codes == []


@pytest.mark.parametrize("field", sorted(OWNER))
def test_each_field_is_required(nobody: Api, field: str):
    body = {key: value for key, value in OWNER.items() if key != field}
    answer = nobody.post("/api/setup", body)
    assert (answer.status, list(answer.fields)) == (422, [field])


@pytest.mark.parametrize(
    "remote",
    [
        RemoteApi(),
        RemoteApi(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR="192.0.2.7"),
        RemoteApi(REMOTE_ADDR="", HTTP_FORWARDED="for=127.0.0.1"),
        RemoteApi(REMOTE_ADDR="127.0.0.1", HTTP_ORIGIN="https://evil.test"),
    ],
)
def test_another_host_needs_the_code_of_the_server(remote: Api):
    for wrong in ({}, {"setup_code": ""}, {"setup_code": "A" * 16}):
        message = refusal(remote.post("/api/setup", OWNER | wrong), 403)
        assert "setup_code" in message
        assert setup_code() not in message
    assert not User.objects.exists()
    code = setup_code()
    given = f" {code[:4].lower()} {code[4:]}"
    ok(remote.post("/api/setup", OWNER | {"setup_code": given}))
    assert User.objects.get().role == "owner"


def test_guessing_the_code_is_slow_over_all_workers(monkeypatch: pytest.MonkeyPatch):
    remote, answers = RemoteApi(), []
    for number in range(7):
        another_worker = limits.configured().guesses
        monkeypatch.setattr(limits.LIMITS, "guesses", another_worker)
        body = OWNER | {"setup_code": f"A{number}"}
        answers.append(remote.post("/api/setup", body))
    assert [answer.status for answer in answers] == [403] * 5 + [429] * 2
    answer = remote.post("/api/setup", OWNER | {"setup_code": setup_code()})
    assert answer.status == 429
    assert int(answer.headers["Retry-After"]) > 0


def test_code_belongs_to_this_deployment(settings: Any):
    code = setup_code()
    assert len(code) == 16
    assert is_setup_code(code)
    assert not is_setup_code(code[:-1])
    assert not is_setup_code("ü" * 16)
    settings.SECRET_KEY = "another"
    assert not is_setup_code(code)


def test_server_prints_the_code_while_there_is_no_owner(settings: Any):
    person("user")
    assert setup_code() in start_notice()
    assert start_notice in start_notices.values()
    settings.SVC = dataclasses.replace(
        settings.SVC, oidc_issuer="https://idp.test", oidc_owner="ann@mesh.dev"
    )
    assert "ann@mesh.dev signs in through https://idp.test" in start_notice()
    person("owner")
    assert start_notice() == ""


def test_with_a_provider_no_setup_is_asked_for_but_it_stays_possible(
    nobody: Api, settings: Any
):
    settings.SVC = dataclasses.replace(settings.SVC, oidc_issuer="https://idp.test")
    assert ok(nobody.get("/api/instance")) == {"setup_required": False}
    made = ok(nobody.post("/api/setup", OWNER))
    assert User.objects.get(role="owner").pk == made["user_id"]
    assert nobody.post("/api/setup", OWNER).status == 412


def test_users_without_owner_do_not_close_the_setup(nobody: Api):
    person("user")
    assert ok(nobody.get("/api/instance")) == {"setup_required": True}
    ok(nobody.post("/api/setup", OWNER))
    assert ok(nobody.get("/api/instance")) == {"setup_required": False}


def test_version():
    assert ok(api_as("user").get("/api/instance/version")) == {
        "management_current_version": meshmgmt.__version__,
        "management_update_available": False,
    }


def test_countries():
    rows = ok(api_as("user").get("/api/locations/countries"))
    names = {row["country_code"]: row["country_name"] for row in rows}
    assert len(rows) == len(names) > 240
    assert (names["DE"], names["TW"]) == ("Germany", "Taiwan")
    shown = [row["country_name"] for row in rows]
    assert shown == sorted(shown)
