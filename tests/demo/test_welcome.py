"""`manage.py welcome`: a login and a token on any database, the same from run to run."""

import dataclasses
import datetime as dt
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import authenticate
from django.core.management import CommandError
from django.test import Client

from events.models import AuditEvent
from events.proof import heads, published
from meshmgmt.access.models import SetupKey
from meshmgmt.access.services.enrolment import setup_keys
from meshmgmt.accounts.authentication import find_token
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import (
    HashedPassword,
    user_set_blocked,
    user_set_password,
)
from meshmgmt.accounts.tokens import token_hash
from meshmgmt.core import clock
from meshmgmt.demo import firstrun
from meshmgmt.demo.firstrun import addresses
from tests import commands, people

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the service a data folder of its own."""
    svc = dataclasses.replace(settings.SVC, data_dir=tmp_path / "var")
    monkeypatch.setattr(settings, "SVC", svc)
    return tmp_path / "var"


def welcome(*flags: str) -> str:
    """Run the command and return what it printed."""
    return commands.printed("welcome", *flags)


def secret(path: Path) -> str:
    """Return what a secret file holds, after looking at its mode."""
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text().strip()


def test_an_empty_database_gets_an_owner_a_password_and_a_token(folder: Path):
    printed = welcome()
    owner, password = User.objects.get(), secret(folder / "admin_password")
    assert (owner.role, owner.email) == ("owner", "owner@mesh.internal")
    assert find_token(secret(folder / "token")).user == owner
    assert authenticate(username=owner.email, password=password) == owner
    assert secret(folder / "token") in printed
    assert f"{owner.email} with the password {password}\n" in printed
    assert f"(also in {folder / 'admin_password'})\n" in printed


def test_where_no_owner_shall_be_made_the_link_that_makes_one_is_printed(folder: Path):
    told = r"^First owner +is made at http://127.0.0.1:8000(.+)"
    [link] = re.findall(told, welcome("--link"), re.MULTILINE)
    assert not User.objects.exists()
    assert not folder.exists()
    sent = {"email": "ann@mesh.dev", "name": "Ann", "password": "correct horse"}
    browser = Client()
    given = browser.get(link).context["form"].initial
    made = browser.post(link, sent | given | {"password_again": sent["password"]})
    assert (made.status_code, made.headers["Location"]) == (302, "/admin/")
    assert "ann@mesh.dev with the password you have chosen" in welcome("--link")


def test_the_second_run_prints_the_same_and_writes_nothing():
    first = welcome()
    events = AuditEvent.objects.count()
    assert welcome() == first
    assert AuditEvent.objects.count() == events


def test_an_owner_who_is_there_is_used(folder: Path):
    people.person("admin")
    owner = people.person("owner")
    assert owner.email in welcome()
    assert User.objects.count() == 2
    password = secret(folder / "admin_password")
    assert authenticate(username=owner.email, password=password)


def test_a_password_of_the_owners_own_choice_is_left_alone(folder: Path):
    owner = people.person("owner")
    user_set_password(user_id=owner.pk, password=HashedPassword("of my own choice"))
    assert "the password you have chosen" in welcome()
    assert not (folder / "admin_password").exists()
    assert authenticate(username=owner.email, password="of my own choice")


def test_a_changed_password_is_not_claimed_to_be_in_the_file():
    welcome()
    another = HashedPassword("another one")
    user_set_password(user_id=User.objects.get().pk, password=another)
    assert "the password you have chosen" in welcome()


def test_a_revoked_token_is_replaced(folder: Path):
    welcome()
    before = secret(folder / "token")
    access_tokens.delete(AccessToken.objects.get().pk)
    welcome()
    assert secret(folder / "token") != before
    assert find_token(secret(folder / "token")).user == User.objects.get()


def test_an_expired_token_is_replaced(folder: Path):
    with clock.set_to(clock.now() - dt.timedelta(days=365)):
        welcome()
        before = secret(folder / "token")
        assert welcome()
        assert secret(folder / "token") == before
    welcome()
    assert find_token(secret(folder / "token")).expires_at > clock.now()


def test_the_token_of_a_blocked_user_is_replaced(folder: Path):
    welcome()
    first = User.objects.get()
    second = people.person("owner")
    user_set_blocked(user_id=first.pk, blocked=True)
    assert second.email in welcome()
    assert find_token(secret(folder / "token")).user == second


def test_nonsense_in_the_token_file_is_replaced(folder: Path):
    folder.mkdir()
    (folder / "token").write_text("nonsense")
    welcome()
    assert find_token(secret(folder / "token")).user == User.objects.get()


HERE = "127.0.0.1:8000"


@pytest.mark.parametrize(
    ("bind", "metrics_host", "metrics_port", "api", "metrics"),
    [
        (HERE, None, 9090, f"http://{HERE}", "http://127.0.0.1:9090"),
        ("0.0.0.0:80", None, 9090, "http://127.0.0.1:80", "http://127.0.0.1:9090"),
        ("[::]:80", "::1", 9, "http://[::1]:80", "http://[::1]:9"),
        (HERE, None, None, f"http://{HERE}", f"http://{HERE}"),
        ("unix:/run/m.sock", None, 9090, "unix:/run/m.sock", "http://127.0.0.1:9090"),
    ],
)
def test_addresses_follow_the_configuration(
    *, bind: str, metrics_host: Any, metrics_port: Any, api: str, metrics: str
):
    told = {"bind": bind, "metrics_host": metrics_host, "metrics_port": metrics_port}
    found = addresses(dataclasses.replace(settings.SVC, **told))
    assert (found.api, found.admin) == (f"{api}/api", f"{api}/admin/")
    assert found.metrics == f"{metrics}/metrics"


def test_flags_of_the_server_win():
    printed = welcome("--bind", "127.0.0.1:8099", "--metrics-port", "9099")
    assert "http://127.0.0.1:8099/api\n" in printed
    assert "http://127.0.0.1:9099/metrics\n" in printed


def test_unusable_flags_are_refused_before_anything_is_made(folder: Path):
    with pytest.raises(CommandError, match="SVC_BIND") as refused:
        welcome("--bind", "nowhere")
    assert refused.value.returncode == 2
    assert not folder.exists()


def test_a_secret_file_never_holds_half_a_secret(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    folder.mkdir()
    (folder / "token").write_text("the old one")

    def no_space(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("meshmgmt.core.files.os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        firstrun.prepare(folder, "mesh.internal")
    assert (folder / "token").read_text() == "the old one"
    assert [path.name for path in folder.iterdir()] == ["token"]
    assert not AccessToken.objects.exists()


def test_machines_are_told_where_and_with_which_key_they_enrol(folder: Path):
    printed = welcome()
    key = secret(folder / "setup_key")
    assert f"Peers          http://127.0.0.1:33073  setup key {key}" in printed
    stored = SetupKey.objects.get(key_hash=token_hash(key))
    assert stored.type == "reusable"


def test_a_revoked_setup_key_is_replaced(folder: Path):
    welcome()
    before = secret(folder / "setup_key")
    stored = SetupKey.objects.get(key_hash=token_hash(before))
    setup_keys.update(stored.pk, {"revoked": True})
    assert welcome().count(before) == 0
    assert secret(folder / "setup_key") != before


def test_no_key_is_shown_where_no_peer_can_connect(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SVC_GRPC_BIND", "off")
    assert "setup key" not in welcome()


def test_it_says_where_tree_heads_are_published_and_the_newest(folder: Path):
    printed = welcome()
    assert f"Tree heads     {folder / 'audit-heads.ndjson'}" in printed
    assert "(none published yet)" in printed
    heads.keep_up()
    published.publish()
    newest = heads.newest()
    assert newest is not None
    assert heads.short(heads.row(newest)) in welcome()
    published.own_file().write_text("x\n")
    assert "(damaged: see `" in welcome()
