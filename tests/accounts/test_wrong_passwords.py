"""Wrong passwords: how many are looked at, who still gets in, and what tells of them."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.db import OperationalError
from django.test import Client

from events.models import AuditEvent
from meshmgmt.accounts.models import User, WrongPassword
from meshmgmt.accounts.services import passwords
from meshmgmt.accounts.services.passwords import (
    PER_ACCOUNT,
    PER_ADDRESS,
    WINDOW,
    forget_wrong_passwords,
)
from meshmgmt.core import clock
from meshmgmt.core.errors import Unavailable
from observability.metrics import instruments
from tests.factories import Trail
from tests.people import api_of, person

pytestmark = pytest.mark.django_db

RIGHT = "correct horse 1"
HERE = "192.0.2.1"


@pytest.fixture
def ann() -> User:
    return person("admin", email="ann@mesh.dev", password=RIGHT)


def sign_in(
    password: str = "wrong", *, email: str = "ann@mesh.dev", address: str = HERE
) -> Any:
    data = {"username": email, "password": password}
    return Client(REMOTE_ADDR=address).post("/admin/login/?next=/admin/", data)


def statuses(count: int, **attempt: str) -> list[int]:
    return [sign_in(**attempt).status_code for _ in range(count)]


def counted(result: str) -> float:
    series = instruments.counter("mesh.signin.attempts.total").labels(result=result)
    return float(series._value.get())


class TestLimitOfAnAddress:
    def test_page_says_how_long_to_wait(self, ann: User):
        assert statuses(PER_ADDRESS) == [200] * PER_ADDRESS
        refused = sign_in()
        assert refused.status_code == 429
        assert 0 < int(refused["Retry-After"]) <= WINDOW.total_seconds()
        text = refused.content.decode()
        assert (
            f"Too many wrong passwords: wait {refused['Retry-After']} seconds." in text
        )
        assert "Mesh management" in text
        assert 'name="password"' in text

    def test_right_password_from_there_waits_and_from_elsewhere_works(self, ann: User):
        statuses(PER_ADDRESS)
        assert sign_in(RIGHT).status_code == 429
        assert sign_in(RIGHT, address="192.0.2.2").status_code == 302

    def test_walking_over_accounts_does_not_help(self, ann: User):
        for number in range(PER_ADDRESS):
            assert sign_in(email=f"u{number}@mesh.dev").status_code == 200
        assert sign_in(RIGHT).status_code == 429

    def test_addresses_of_one_ipv6_site_count_as_one(self, ann: User):
        for number in range(PER_ADDRESS):
            assert sign_in(address=f"2001:db8::{number}").status_code == 200
        assert sign_in(address="2001:db8::ffff").status_code == 429
        assert sign_in(address="2001:db8:0:1::1").status_code == 200

    def test_it_ends_with_the_window(self, ann: User):
        statuses(PER_ADDRESS)
        wait = int(sign_in()["Retry-After"])
        with time_machine.travel(clock.now() + dt.timedelta(seconds=wait)):
            assert sign_in(RIGHT).status_code == 302

    def test_nobody_waits_for_a_clock_that_was_set_back(self, ann: User):
        with time_machine.travel(clock.now() + dt.timedelta(days=1)):
            statuses(PER_ADDRESS)
            assert sign_in(RIGHT).status_code == 429
        assert sign_in(RIGHT).status_code == 302

    def test_right_passwords_count_for_nothing(self, ann: User):
        assert statuses(PER_ADDRESS + 2, password=RIGHT) == [302] * (PER_ADDRESS + 2)
        assert not WrongPassword.objects.exists()

    def test_an_open_session_goes_on(self, ann: User):
        client = Client(REMOTE_ADDR=HERE)
        client.force_login(ann)
        statuses(PER_ADDRESS + 1)
        assert client.get("/admin/").status_code == 200


def test_limit_of_an_account_leaves_each_other_address_one_try(ann: User):
    for number in range(PER_ACCOUNT):
        assert sign_in(address=f"198.51.100.{number}").status_code == 200
    # An address that failed waits.
    refused = sign_in(RIGHT, address="198.51.100.1")
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    # One that did not gets in, or has one try.
    assert sign_in(RIGHT, address="192.0.2.2").status_code == 302
    assert statuses(2) == [200, 429]
    # Other accounts are not concerned.
    person("admin", email="bob@mesh.dev", password=RIGHT)
    bob = {"email": "bob@mesh.dev", "address": "198.51.100.2"}
    assert sign_in(**bob).status_code == 200
    assert sign_in(RIGHT, **bob).status_code == 302


def test_accounts_that_do_not_exist_are_treated_alike(ann: User):
    def flood(email: str) -> list[int]:
        WrongPassword.objects.all().delete()
        found = [
            sign_in(email=email, address=f"198.51.100.{number}").status_code
            for number in range(PER_ACCOUNT)
        ]
        return [*found, *statuses(2, email=email)]

    assert flood("nobody@mesh.dev") == flood("ann@mesh.dev")


class TestWhatTells:
    def test_log_warns_of_each_without_what_was_typed(
        self, ann: User, caplog: pytest.LogCaptureFixture
    ):
        sign_in("my secret")
        sign_in("my secret", email="my secret too")
        known, unknown = (
            record for record in caplog.records if "sign-in failed" in record.message
        )
        assert {known.levelname, unknown.levelname} == {"WARNING"}
        assert vars(known)["target_id"] == ann.pk
        assert vars(known)["source"] == HERE
        assert "target_id" not in vars(unknown)
        assert "my secret" not in str([vars(record) for record in caplog.records])

    def test_metric_counts_by_result(self, ann: User):
        before = {name: counted(name) for name in ("ok", "failed", "limited")}
        sign_in(RIGHT)
        statuses(PER_ADDRESS + 2)
        after = {name: counted(name) - count for name, count in before.items()}
        assert after == {"ok": 1, "failed": PER_ADDRESS, "limited": 2}

    def test_trail_has_the_first_and_the_last_of_an_address(self, ann: User):
        trail = Trail()
        statuses(PER_ADDRESS + 5)
        sign_in(email="nobody@mesh.dev", address="192.0.2.9")
        assert trail.targets == [("user.password.fail", ann.pk)] * 2
        counts = [event.meta["wrong_passwords"] for event in trail.events]
        assert counts == ["1", str(PER_ADDRESS)]
        assert {event.source_address for event in trail.events} == {HERE}
        assert trail.events[0].meta["email"] == "ann@mesh.dev"

    def test_flood_from_everywhere_is_no_flood_of_the_trail(self, ann: User):
        for number in range(PER_ACCOUNT + 10):
            sign_in(address=f"198.51.100.{number}")
        events = AuditEvent.objects.filter(activity_code="user.password.fail")
        assert events.count() == PER_ACCOUNT

    def test_what_counts_no_more_is_deleted(self, ann: User):
        with time_machine.travel(clock.now() - WINDOW):
            sign_in()
        sign_in()
        forget_wrong_passwords()
        assert WrongPassword.objects.count() == 1


def test_check_that_breaks_off_is_counted_as_an_error(
    ann: User, monkeypatch: pytest.MonkeyPatch
):
    def lost(account: str) -> Any:
        raise OperationalError

    monkeypatch.setattr(passwords, "_attempt", lost)
    before = {name: counted(name) for name in ("ok", "error")}
    with pytest.raises(OperationalError):
        passwords.password_check(ann, RIGHT, name=ann.email)
    after = {name: counted(name) - count for name, count in before.items()}
    assert after == {"ok": 0, "error": 1}


def test_guessing_the_old_password_over_the_api_counts_too(ann: User):
    api = api_of(ann)
    path = f"/api/users/{ann.pk}/password"

    def change(old: str) -> Any:
        return api.put(path, {"old_password": old, "new_password": "Correct-Horse-2"})

    assert [change("wrong").status for _ in range(PER_ADDRESS)] == [422] * PER_ADDRESS
    refused = change(RIGHT)
    assert refused.status == 429
    assert int(refused.headers["Retry-After"]) > 0
    WrongPassword.objects.all().delete()
    assert change(RIGHT).status == 200


def test_old_hashes_keep_working_and_become_scrypt(settings: Any):
    names = ["Scrypt", "PBKDF2"]
    scrypt, pbkdf2 = (f"django.contrib.auth.hashers.{n}PasswordHasher" for n in names)
    settings.PASSWORD_HASHERS = [pbkdf2]
    user = person("admin", email="ann@mesh.dev", password=RIGHT)
    assert user.password.startswith("pbkdf2_sha256$")
    settings.PASSWORD_HASHERS = [scrypt, pbkdf2]
    trail = Trail()
    assert sign_in(RIGHT).status_code == 302
    user.refresh_from_db()
    assert user.password.startswith("scrypt$")
    assert trail.codes == ["dashboard.login"]
    assert sign_in(RIGHT).status_code == 302


def test_busy_page_is_503_with_retry_after(ann: User):
    with passwords.LANE.turn(Unavailable("busy")):
        answer = sign_in(RIGHT)
    assert answer.status_code == 503
    assert answer["Retry-After"]
    assert "try again" in answer.content.decode()
    assert sign_in(RIGHT).status_code == 302
