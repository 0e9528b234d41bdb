"""Who gets in, and what the others are told."""

import datetime as dt
import time
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import DjangoAssertNumQueries

from events.models import AuditEvent
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.tokens import new_token
from tests.admin.signed_in import client_of
from tests.api_client import Answer, Api
from tests.factories import changed, newest_event
from tests.people import api_of, person, robot, token_of
from tests.races import lock_held_elsewhere
from tests.resource_contract import refusal

pytestmark = pytest.mark.django_db

ME = "/api/users/current"
Header = Callable[[str], str]


def ask(authorization: str | None) -> Answer:
    headers = {} if authorization is None else {"Authorization": authorization}
    return Api().call("GET", ME, **headers)


@pytest.mark.parametrize(
    "header",
    [
        lambda token: f"Token {token}",
        lambda token: f"token {token}",
        lambda token: f"TOKEN {token}",
        lambda token: f"Bearer {token}",
        lambda token: f"bearer {token}",
    ],
)
def test_a_token_of_ours_is_accepted(header: Header):
    user = person("user")
    answer = ask(header(token_of(user)))
    assert (answer.status, answer.json["id"]) == (200, user.pk)


@pytest.mark.parametrize("header", [None, "", "Basic eDp5", "mpt_x", "Digest a b"])
def test_without_credentials_the_answer_says_so(header: str | None):
    answer = ask(header)
    assert answer.status == 401
    assert answer.json == {"message": "no valid authentication provided", "code": 401}
    assert answer.headers["WWW-Authenticate"].startswith("Token ")


@pytest.mark.parametrize(
    "header",
    [
        lambda token: "Token",
        lambda token: "Token ",
        lambda token: f"Token  {token}",
        lambda token: f"Token {token} ",
        lambda token: f"Token {token} x",
        lambda token: f"Token {token[:-1]}",
        lambda token: f"Token {token[:-1]}{'1' if token[-1] != '1' else '2'}",
        lambda token: f"Token {token.swapcase()}",
        lambda token: f"Token {new_token()}",
        lambda token: f"Token {token.replace('mpt_', 'nbp_')}",
        lambda token: "Bearer",
        lambda token: "Bearer eyJhbGciOiJub25lIn0.e30.",
        lambda token: "Bearer mpt_",
        lambda token: "Token \xff\xfe",
    ],
)
def test_bad_tokens_all_get_the_same_answer(header: Header):
    answer = ask(header(token_of(person("user"))).encode().decode("latin-1"))
    assert answer.json == {"message": "token invalid", "code": 401}
    assert answer.status == 401
    assert answer.headers["WWW-Authenticate"].startswith("Token ")


def test_a_revoked_token_is_invalid():
    user = person("user")
    api = api_of(user)
    access_tokens.delete(AccessToken.objects.get().pk)
    assert api.call("GET", ME).json["message"] == "token invalid"


def test_a_token_lives_to_its_last_moment_and_no_longer():
    with time_machine.travel(dt.datetime(2026, 5, 1, tzinfo=dt.UTC), tick=False) as now:
        api = api_of(person("user"))  # one day
        now.shift(dt.timedelta(days=1, microseconds=-1))
        assert api.call("GET", ME).status == 200
        now.shift(dt.timedelta(microseconds=1))
        answer = api.call("GET", ME)
    assert (answer.status, answer.json["message"]) == (401, "token expired")
    used = AccessToken.objects.get().last_used
    assert used is not None
    assert used.day == 1  # the refused request is no use


def test_an_ingest_token_opens_nothing_else():
    api = api_of(person("owner"), scope="ingest")
    for path in (ME, "/api/users", "/api/accounts"):
        assert "ingest" in refusal(api.call("GET", path), 403)


def test_a_token_costs_one_query(django_assert_num_queries: DjangoAssertNumQueries):
    user = person("user")
    api = api_of(user)
    path = f"/api/users/{user.pk}/tokens"
    api.call("GET", path)  # notes the use
    with django_assert_num_queries(2):  # token with user, list of tokens
        assert api.call("GET", path).status == 200


def test_a_malformed_token_is_not_looked_up():
    with CaptureQueriesContext(connection) as captured:
        assert Api("mpt_" + "a" * 36).call("GET", ME).status == 401
    assert not any("accesstoken" in query["sql"] for query in captured.captured_queries)


def test_the_database_sees_hashes_alone():
    token = token_of(person("user"))
    with CaptureQueriesContext(connection) as captured:
        Api(token).call("GET", ME)
    assert captured.captured_queries
    assert not any(token[4:] in query["sql"] for query in captured.captured_queries)
    assert not any(token[4:] in str(row) for row in AccessToken.objects.values())


def test_the_last_use_is_noted_once_a_minute():
    start = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
    with time_machine.travel(start, tick=False) as now:
        api = api_of(person("user"))

        def last_use() -> dt.datetime | None:
            assert api.call("GET", ME).status == 200
            return AccessToken.objects.get().last_used

        assert last_use() == start
        now.shift(59)
        assert last_use() == start
        now.shift(1)
        assert last_use() == start + dt.timedelta(minutes=1)
        now.shift(-86400)  # the clock was ahead
        assert last_use() == start + dt.timedelta(minutes=1, days=-1)
    assert not AuditEvent.objects.filter(activity_code="user.update").exists()


@pytest.mark.django_db(transaction=True)
def test_a_busy_writer_does_not_delay_a_read():
    """The use goes unrecorded on SQLite, whose one write lock is taken."""
    api = api_of(person("user"))
    with lock_held_elsewhere():
        start = time.perf_counter()
        assert api.call("GET", ME).status == 200
        assert time.perf_counter() - start < 5
    assert api.call("GET", ME).status == 200
    assert AccessToken.objects.get().last_used is not None


class TestSessions:
    @pytest.fixture
    def user(self) -> User:
        return person("owner", password="correct horse")

    def make_token(self, client: Client, user: User, **headers: str) -> Any:
        body = {"name": "x", "expires_in": 1}
        path, kind = f"/api/users/{user.pk}/tokens", "application/json"
        return client.post(path, body, content_type=kind, headers=headers)

    def test_a_session_may_read(self, user: User):
        assert client_of(user).get(ME).json()["id"] == user.pk

    def test_a_write_needs_the_csrf_token(self, user: User):
        client = Client(enforce_csrf_checks=True)
        client.force_login(user)
        answer = self.make_token(client, user)
        assert answer.status_code == 403
        assert "CSRF" in answer.json()["message"]
        assert not AccessToken.objects.exists()
        client.get("/admin/login/")
        client.get("/admin/")
        csrf = client.cookies["csrftoken"].value
        assert self.make_token(client, user, **{"X-CSRFToken": csrf}).status_code == 200
        event = AuditEvent.objects.get(activity_code="personal.access.token.create")
        assert (event.initiator_id, event.token_id) == (user.pk, "")

    def test_a_one_time_password_opens_nothing_but_the_page_that_replaces_it(
        self, user: User
    ):
        client = client_of(changed(user, password_is_temporary=True))
        answer = self.make_token(client, user)
        assert answer.status_code == 403
        assert "one-time password" in answer.json()["message"]
        assert client.get(ME).status_code == 403
        assert not AccessToken.objects.exists()
        new = dict.fromkeys(("new_password1", "new_password2"), "Correct-Horse-7!")
        sent = {"old_password": "correct horse", **new}
        client.post("/admin/password_change/", sent)
        assert client.get(ME).status_code == 200

    def test_a_blocked_user_is_forbidden(self, user: User):
        client = client_of(changed(user, is_blocked=True))
        answer = client.get(ME)
        assert answer.status_code == 403
        assert "blocked" in answer.json()["message"]


def test_the_actor_of_a_request_is_the_tokens_user():
    user = robot("admin")
    plain = token_of(user)
    stored = AccessToken.objects.get()
    path = f"/api/users/{user.pk}/tokens"
    answer = Api(plain).call("POST", path, {"name": "second", "expires_in": 2})
    assert answer.status == 200
    event = newest_event()
    assert (event.initiator_id, event.initiator_name) == (user.pk, "robot")
    assert event.token_id == stored.pk
    assert event.request_id == answer.headers["X-Request-Id"]
    assert answer.json["personal_access_token"]["created_by"] == user.pk
