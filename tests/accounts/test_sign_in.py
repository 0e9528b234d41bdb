"""Signing in to the admin site."""

from typing import Any

import pytest
from django.test import Client

from events.models import AuditEvent
from tests.admin.signed_in import client_of
from tests.people import person

pytestmark = pytest.mark.django_db

USERS = "/admin/accounts/user/"


class TestSignIn:
    """The login page."""

    def sign_in(self, email: str, password: str) -> Any:
        data = {"username": email, "password": password}
        return Client().post("/admin/login/?next=/admin/", data)

    def test_with_email_and_password(self) -> None:
        user = person("admin", email="Bob@mesh.dev", password="correct horse")
        response = self.sign_in("bob@MESH.dev", "correct horse")
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
        ("email", "password"),
        [
            ("bob@mesh.dev", "wrong"),
            ("bob@mesh.dev", ""),
            ("bob@mesh.dev", "CORRECT HORSE"),
            ("eve@mesh.dev", "correct horse"),
            ("", "correct horse"),
            ("\x00", "correct horse"),
        ],
    )
    def test_not_with_anything_else(self, email: str, password: str) -> None:
        person("admin", email="bob@mesh.dev", password="correct horse")
        assert self.sign_in(email, password).status_code == 200
        assert not AuditEvent.objects.filter(activity_code="dashboard.login").exists()

    @pytest.mark.parametrize(
        "facts",
        [{"is_blocked": True}, {"pending_approval": True}, {"role": "user"}],
    )
    def test_not_when_blocked_pending_or_without_anything_to_see(
        self, facts: dict[str, Any]
    ) -> None:
        user = person("admin", email="bob@mesh.dev", password="correct horse")
        for name, value in facts.items():
            setattr(user, name, value)
        user.save()
        assert self.sign_in("bob@mesh.dev", "correct horse").status_code == 200
        assert not AuditEvent.objects.filter(activity_code="dashboard.login").exists()

    def test_not_without_a_password_of_ones_own(self) -> None:
        person("admin", email="bob@mesh.dev")
        assert self.sign_in("bob@mesh.dev", "!").status_code == 200

    def test_an_outdated_hash_is_renewed_without_an_event(self, settings: Any) -> None:
        user = person("admin", email="bob@mesh.dev", password="correct horse")
        md5, pbkdf2 = (
            f"django.contrib.auth.hashers.{name}PasswordHasher"
            for name in ("MD5", "PBKDF2")
        )
        settings.PASSWORD_HASHERS = [pbkdf2, md5]
        assert self.sign_in("bob@mesh.dev", "correct horse").status_code == 302
        user.refresh_from_db()
        assert user.password.startswith("pbkdf2")
        codes = AuditEvent.objects.values_list("activity_code", flat=True)
        assert "user.password.change" not in codes

    def test_blocking_ends_a_session(self) -> None:
        person("owner")
        user = person("admin")
        client = client_of(user)
        assert client.get(USERS).status_code == 200
        user.is_blocked = True
        user.save()
        assert client.get(USERS).status_code == 302
