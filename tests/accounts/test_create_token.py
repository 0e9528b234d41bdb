"""`manage.py create_token`."""

import datetime as dt
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from events.models import AuditEvent
from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.models import AccessToken, User
from tests.factories import changed
from tests.people import person, robot

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("create_token", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_first_user_is_owner_and_the_token_stands_alone():
    out, err = run("--user", "root@mesh.dev")
    token = find_token(out.removesuffix("\n"))
    assert (token.user.email, token.user.role) == ("root@mesh.dev", "owner")
    assert token.name == "cli"
    assert token.expires_at - token.created_at == dt.timedelta(days=30)
    assert token.created_by == "system"
    assert err == "created user root@mesh.dev with role owner\n"


def test_while_there_is_no_owner_the_next_user_becomes_one():
    user = person("user")
    out, err = run("--user", user.email)
    assert find_token(out.strip()).user == user
    assert err == (
        f"there is no owner: `manage.py users set-role {user} owner` makes one\n"
    )
    with pytest.raises(CommandError, match="no owner yet: leave --role out"):
        run("--user", "root@mesh.dev", "--role", "admin")
    out, _ = run("--user", "root@mesh.dev")
    assert find_token(out.strip()).user.role == "owner"


def test_a_further_user_needs_a_role():
    person("owner")
    with pytest.raises(CommandError, match="--role"):
        run("--user", "bob@mesh.dev")
    out, _ = run("--user", "bob@mesh.dev", "--role", "auditor", "--days", "365")
    assert find_token(out.strip()).user.role == "auditor"


def test_the_user_is_found_in_any_case_and_by_id():
    user, machine = person("admin", email="Ann@mesh.dev"), robot()
    assert find_token(run("--user", "ANN@MESH.dev")[0].strip()).user == user
    assert find_token(run("--user", machine.pk)[0].strip()).user == machine
    assert User.objects.count() == 2


def test_another_role_than_the_user_has_is_refused():
    user = person("admin")
    with pytest.raises(CommandError, match="role admin"):
        run("--user", user.email, "--role", "owner")
    user.refresh_from_db()
    assert user.role == "admin"


def test_a_blocked_user_gets_no_token():
    person("owner")
    user = changed(person("user"), is_blocked=True)
    with pytest.raises(CommandError, match="blocked"):
        run("--user", user.email)
    assert not AccessToken.objects.exists()


def test_only_ingest_limits_the_token():
    out, _ = run("--user", "root@mesh.dev", "--only", "ingest")
    assert find_token(out.strip()).scope == "ingest"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--user", "nobody"], "e-mail address"),
        (["--user", "a@b", "--days", "0"], "1 to 365"),
        (["--user", "a@b", "--days", "366"], "1 to 365"),
        (["--user", "a@b", "--name", " "], "name is empty"),
        (["--user", "a@b", "--role", "king"], "invalid choice"),
        ([], "--user"),
    ],
)
def test_bad_arguments_leave_nothing_behind(arguments: list[str], reason: str):
    events = AuditEvent.objects.count()
    said = StringIO()
    with pytest.raises(CommandError, match=reason):
        call_command("create_token", *arguments, stderr=said)
    assert "created" not in said.getvalue()
    assert not User.objects.exists()
    assert not AccessToken.objects.exists()
    assert AuditEvent.objects.count() == events


def test_user_and_token_are_in_the_audit_trail():
    run("--user", "root@mesh.dev", "--name", "first")
    user = User.objects.get()
    created, token = AuditEvent.objects.order_by("id").filter(target_id=user.pk)
    codes = [created.activity_code, token.activity_code]
    assert codes == ["user.create", "personal.access.token.create"]
    assert (token.meta["name"], token.meta["email"]) == ("first", "root@mesh.dev")
    assert token.changes["hash"] == {"before": None, "after": "changed"}
    assert created.initiator_id == token.initiator_id == "system"
