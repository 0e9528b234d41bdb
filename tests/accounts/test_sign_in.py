"""Signing in to the admin site."""

import datetime as dt
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client

from events.models import AuditEvent
from meshmgmt.accounts.models import User, WrongPassword
from meshmgmt.accounts.services.users import user_set_blocked
from meshmgmt.core import clock
from meshmgmt.core.jobs import registered_jobs
from tests.accounts.identities import KEPT_OUT
from tests.admin.signed_in import client_of
from tests.factories import changed
from tests.people import person

pytestmark = pytest.mark.django_db

USERS = "/admin/accounts/user/"
RIGHT = "correct horse"


class TestSignIn:
    def sign_in(self, email: str, password: str) -> Any:
        data = {"username": email, "password": password}
        return Client().post("/admin/login/?next=/admin/", data)

    def test_with_email_and_password(self):
        user = person("admin", email="Bob@mesh.dev", password=RIGHT)
        response = self.sign_in("bob@MESH.dev", RIGHT)
        assert (response.status_code, response["Location"]) == (302, "/admin/")
        event = AuditEvent.objects.get(activity_code="dashboard.login")
        assert event.target_id == event.initiator_id == user.pk
        assert event.meta["email"] == "Bob@mesh.dev"
        assert event.meta["timestamp"].endswith("Z")
        assert event.request_id
        assert event.source_address == "127.0.0.1"
        user.refresh_from_db()
        assert user.last_login is not None
        assert not AuditEvent.objects.filter(activity_code="user.update").exists()

    @pytest.mark.parametrize(
        ("email", "password", "facts"),
        [
            *(("bob@mesh.dev", text, {}) for text in ("wrong", "", "CORRECT HORSE")),
            *((email, RIGHT, {}) for email in ("eve@mesh.dev", "", "\x00")),
            *(("bob@mesh.dev", "wrong", facts) for facts, _ in KEPT_OUT),
            ("bob@mesh.dev", "!", {"password": "!"}),  # none of one's own
        ],
    )
    def test_not_otherwise(self, email: str, password: str, facts: dict[str, Any]):
        changed(person("admin", email="bob@mesh.dev", password=RIGHT), **facts)
        response = self.sign_in(email, password)
        assert response.status_code == 200
        text = response.content.decode()
        if email.isprintable() and email and password:
            assert "The e-mail address or password is wrong." in text
        assert not [words for _, words in KEPT_OUT if words in text]
        assert not AuditEvent.objects.filter(activity_code="dashboard.login").exists()

    @pytest.mark.parametrize(("facts", "words"), KEPT_OUT)
    def test_who_may_not_enter_is_told_why_once_the_password_is_right(
        self, facts: dict[str, Any], words: str
    ):
        changed(person("admin", email="bob@mesh.dev", password=RIGHT), **facts)
        response = self.sign_in("bob@mesh.dev", RIGHT)
        assert response.status_code == 403
        assert words in response.content.decode()
        assert "Retry-After" not in response
        assert not WrongPassword.objects.exists()
        assert not AuditEvent.objects.filter(activity_code="dashboard.login").exists()

    def test_blocking_ends_a_session_for_good(self):
        person("owner")
        user = person("admin")
        client = client_of(user)
        assert client.get(USERS).status_code == 200
        user_set_blocked(user_id=user.pk, blocked=True)
        assert client.get(USERS).status_code == 302
        user_set_blocked(user_id=user.pk, blocked=False)
        assert client.get(USERS).status_code == 302
        again = client_of(User.objects.get(pk=user.pk))
        assert again.get(USERS).status_code == 200


def test_sessions_that_are_over_are_deleted():
    for days in (-1, 1):
        until = clock.now() + dt.timedelta(days=days)
        Session.objects.create(session_key=f"{days}", expire_date=until)
    jobs = {job.name: job for job in registered_jobs()}
    jobs["ended_sessions"].run()
    assert [each.session_key for each in Session.objects.all()] == ["1"]
