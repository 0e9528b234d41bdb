"""`manage.py users`, `tokens` and `createsuperuser`."""

import io
import json
import shlex
import sys
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError

from events.models import AuditEvent
from meshmgmt.accounts.models import AccessToken, User
from tests.commands import printed as run
from tests.factories import changed, newest_event
from tests.people import person, robot, token_of

pytestmark = pytest.mark.django_db


RIGHT = "correct horse"


def run_json(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


def last_code() -> str:
    event = newest_event()
    assert event.initiator_id == "system"
    return event.activity_code


class TestUsers:
    @pytest.fixture(autouse=True)
    def owner(self) -> User:
        return person("owner", email="ann@mesh.dev", name="Ann")

    def test_list(self, owner: User):
        machine = robot(name="ci")
        titles, first, second = map(str.split, run("users", "list").splitlines())
        assert " ".join(titles) == "ID E-MAIL NAME ROLE STATE LAST SIGN-IN"
        assert " ".join(first) == f"{owner.pk} ann@mesh.dev Ann owner active never"
        assert "(service user)" in " ".join(second)
        rows = run_json("users", "list")
        assert [row["id"] for row in rows] == [owner.pk, machine.pk]
        assert rows[1]["is_service_user"] is True

    def test_names_cannot_forge_lines(self, owner: User):
        machine = robot(name="ci\nroot\x1b[31m")
        token_of(machine)
        for listing in ("users", "tokens"):
            lines = run(listing, "list").rstrip("\n").split("\n")
            assert all(line.isprintable() for line in lines)
            assert any(r"ci\nroot\x1b[31m" in line for line in lines)
        done = run("users", "block", machine.pk)
        assert done == r"ci\nroot\x1b[31m is blocked" + "\n"

    def test_list_of_nobody(self):
        User.objects.all().delete()
        assert run("users", "list").startswith("ID")
        assert run_json("users", "list") == []

    def test_block_and_unblock(self):
        user = person("admin", email="bob@mesh.dev")
        assert run("users", "block", "BOB@mesh.dev") == "bob@mesh.dev is blocked\n"
        user.refresh_from_db()
        assert user.is_blocked
        assert last_code() == "user.block"
        events = AuditEvent.objects.count()
        run("users", "block", user.pk)
        assert AuditEvent.objects.count() == events
        assert run_json("users", "unblock", user.pk)["state"] == "active"
        assert last_code() == "user.unblock"

    def test_unblock_lets_a_pending_user_in(self):
        user = changed(person("user"), pending_approval=True)
        assert run("users", "unblock", user.pk) == f"{user.email} is approved\n"
        user.refresh_from_db()
        assert not user.pending_approval
        assert last_code() == "user.approve"
        run("users", "block", user.pk)
        assert run("users", "unblock", user.pk) == f"{user.email} is not blocked\n"

    def test_set_role(self):
        user = person("user")
        assert run_json("users", "set-role", user.email, "auditor")["role"] == "auditor"
        assert last_code() == "user.role.update"
        event = AuditEvent.objects.latest("id")
        assert event.meta["role"] == "auditor"
        assert event.changes == {"role": {"before": "user", "after": "auditor"}}

    @pytest.mark.parametrize("deed", [["block"], ["set-role", "admin"]])
    def test_the_last_owner_is_kept(self, deed: list[str], owner: User):
        changed(person("owner"), is_blocked=True)
        with pytest.raises(CommandError, match="no owner left"):
            run("users", deed[0], owner.email, *deed[1:])
        assert owner in User.objects.owners()
        person("owner")
        run("users", deed[0], owner.email, *deed[1:])
        assert owner not in User.objects.owners()

    def test_transfer_owner(self, owner: User):
        user = person("user", email="bob@mesh.dev")
        run("users", "transfer-owner", owner.email, user.email)
        roles = dict(User.objects.values_list("email", "role"))
        assert roles == {"ann@mesh.dev": "admin", "bob@mesh.dev": "owner"}
        codes = {e.activity_code for e in AuditEvent.objects.filter(target_id=user.pk)}
        assert codes == {"user.create", "user.role.update", "transferred.owner.role"}

    def test_the_owner_role_goes_only_to_people_who_can_act(self, owner: User):
        user = changed(person("user"), is_blocked=True)
        for one, to, reason in (
            (owner, user, "blocked"),
            (owner, robot(), "service user"),
            (owner, owner, "hand over"),
            (person("admin"), person("user"), "hand over"),
        ):
            with pytest.raises(CommandError, match=reason):
                run("users", "transfer-owner", one.pk, to.pk)
        assert list(User.objects.owners()) == [owner]

    def test_set_password_from_standard_input(
        self, owner: User, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{RIGHT}\nrest\n"))
        run("users", "set-password", owner.email, "--stdin")
        owner.refresh_from_db()
        assert owner.check_password(RIGHT)
        assert last_code() == "user.password.change"
        changes = AuditEvent.objects.latest("id").changes
        assert changes == {"password": {"before": "changed", "after": "changed"}}

    @pytest.mark.parametrize(
        ("typed", "arguments", "reason"),
        [
            *(
                (text, "set-password ann@mesh.dev --stdin", "password")
                for text in ("", "short", "password")
            ),
            ("x", "set-password ann@mesh.dev", "--stdin"),
            (RIGHT, "set-password {robot} --stdin", "service user has no"),
            ("", "set-role {robot} owner", "service user cannot"),
            ("", "set-role eve@mesh.dev admin", "eve@mesh.dev"),
            ("", "set-role ann@mesh.dev king", "king"),
            ("", "block eve@mesh.dev", "eve@mesh.dev"),
            ("", "unblock ''", "no user"),
            ("", "fly", "fly"),
            ("", "", "required"),
        ],
    )
    def test_mistakes_are_named_and_change_nothing(
        self, monkeypatch: pytest.MonkeyPatch, typed: str, arguments: str, reason: str
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n"))
        words = shlex.split(arguments.format(robot=robot().pk))
        before = list(User.objects.values())
        with pytest.raises(CommandError, match=reason):
            run("users", *words)
        assert list(User.objects.values()) == before


class TestTokens:
    @pytest.fixture(autouse=True)
    def owner(self) -> User:
        return person("owner", email="ann@mesh.dev")

    def test_list(self, owner: User):
        plain = token_of(owner)
        machine = robot(name="ci")
        token_of(machine, scope="ingest")
        text = run("tokens", "list")
        assert "ann@mesh.dev" in text
        assert "never" in text
        assert plain[4:] not in text
        rows = run_json("tokens", "list")
        assert [row["scope"] for row in rows] == ["", "ingest"]
        assert all("hash" not in row for row in rows)
        (row,) = json.loads(run("tokens", "list", "--user", machine.pk, "--json"))
        assert (row["user"], row["expired"]) == ("ci", False)

    def test_revoke_by_id_and_by_the_token_itself(self, owner: User):
        token_of(owner)
        kept = AccessToken.objects.get()
        assert run("tokens", "revoke", token_of(owner), kept.pk) == "revoked: 2\n"
        assert not AccessToken.objects.exists()
        assert last_code() == "personal.access.token.delete"

    def test_token_named_twice_is_revoked_once(self, owner: User):
        leaked = token_of(owner)
        token = AccessToken.objects.get()
        assert run("tokens", "revoke", token.pk, leaked, token.pk) == "revoked: 1\n"
        assert not AccessToken.objects.exists()

    def test_revoke_all_of_a_user(self, owner: User):
        machine = robot()
        for user in (owner, machine, machine):
            token_of(user)
        rows = json.loads(run("tokens", "revoke", "--user", machine.pk, "--json"))
        assert len(rows) == 2
        assert AccessToken.objects.get().user == owner

    def test_one_unknown_token_revokes_nothing(self, owner: User):
        token_of(owner)
        token = AccessToken.objects.get()
        with pytest.raises(CommandError, match="'x' was not found"):
            run("tokens", "revoke", token.pk, "x")
        assert AccessToken.objects.exists()

    @pytest.mark.parametrize(
        "arguments", [[], ["a", "--user", "ann@mesh.dev"], ["--user", "eve@mesh.dev"]]
    )
    def test_what_to_revoke_must_be_clear(self, arguments: list[str]):
        with pytest.raises(CommandError):
            run("tokens", "revoke", *arguments)


class TestCreateSuperuser:
    @pytest.fixture(autouse=True)
    def _environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("EMAIL", "NAME", "USERNAME", "PASSWORD"):
            monkeypatch.delenv(f"DJANGO_SUPERUSER_{name}", raising=False)

    def test_from_the_environment(self, monkeypatch: pytest.MonkeyPatch):
        given = {"EMAIL": "root@mesh.dev", "USERNAME": "root", "PASSWORD": RIGHT}
        for name, value in given.items():
            monkeypatch.setenv(f"DJANGO_SUPERUSER_{name}", value)
        assert "root@mesh.dev" in run("createsuperuser", "--noinput")
        user = User.objects.get()
        assert (user.role, user.name, user.is_staff) == ("owner", "root", True)
        assert user.check_password(RIGHT)

    def test_without_a_password_nobody_can_sign_in(self):
        err = StringIO()
        run("createsuperuser", "--no-input", "--email", "root@mesh.dev", stderr=err)
        assert not User.objects.get().has_usable_password()
        assert "set-password" in err.getvalue()

    def test_a_second_one_is_possible(self):
        for name in "ab":
            run("createsuperuser", "--noinput", "--email", f"{name}@mesh.dev")
        assert User.objects.owners().count() == 2

    @pytest.mark.parametrize(
        ("arguments", "reason"),
        [
            (["--noinput"], "DJANGO_SUPERUSER_EMAIL"),
            (["--noinput", "--email", "root"], "not an e-mail address"),
            (["--noinput", "--email", "ANN@mesh.dev"], "another user"),
            (["--email", "root@mesh.dev"], "no terminal"),
        ],
    )
    def test_mistakes_are_named(
        self, arguments: list[str], reason: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        person("owner", email="ann@mesh.dev")
        with pytest.raises(CommandError, match=reason):
            run("createsuperuser", *arguments)
        assert User.objects.count() == 1
