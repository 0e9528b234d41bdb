"""Secrets never reach an output."""

import logging
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from observability.logs import redaction
from tests.logscan import LogScan
from tests.people import api_of, person

SECRET = "hunter2hunter2"
TOKEN = "mpt_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Token {TOKEN}",
        f"authorization=Bearer {JWT}",
        f"used {TOKEN} twice",
        f"/api/users/invites/mpi_{SECRET}/accept",
        f"the proxy has nbx_{SECRET}",
        f"signed with whsec_{SECRET}+/x=",
        f"password={SECRET}",
        f"new_password: {SECRET}",
        f"POST /x?token={SECRET}&a=1",
        f'{{"password": "{SECRET}"}}',
        f"{{'api_key': '{SECRET}'}}",
        f"postgresql://app:{SECRET}@db.internal:5432/mesh",
        f"Cookie: sessionid={SECRET}; csrftoken={SECRET}",
        f"Set-Cookie: sessionid={SECRET}; HttpOnly",
        f"SVC_SECRET_KEY_FILE secret={SECRET}",
        f"client_secret={SECRET}",
    ],
)
def test_secrets_in_text_are_hidden(text: str):
    shown = redaction.text(text)
    assert SECRET not in shown
    assert "mpt_A" not in shown
    assert "dozjgNryP4J3jVmNHl0w5N" not in shown
    assert redaction.HIDDEN in shown


@pytest.mark.parametrize(
    "text",
    [
        "HTTP request GET /api/dns/zones",
        "token invalid",
        "token expired",
        "no password was given",
        "listening at http://127.0.0.1:8000",
        "user bob@corp.internal signed in",
        "Bearer of bad news",
        "2 tokens revoked",
    ],
)
def test_harmless_text_is_left_alone(text: str):
    assert redaction.text(text) == text


def test_values_are_hidden_by_the_name_of_their_field():
    shown = redaction.value(
        {
            "password": SECRET,
            "Authorization": "Token abc",
            "nested": [{"client_secret": SECRET, "token_id": "t1"}],
            "token_count": 3,
        }
    )
    assert shown == {
        "password": redaction.HIDDEN,
        "Authorization": redaction.HIDDEN,
        "nested": [{"client_secret": redaction.HIDDEN, "token_id": "t1"}],
        "token_count": 3,
    }


@given(st.text(alphabet="aA1_ =:;@/.-\"'token", max_size=300))
def test_redaction_is_stable(text: str):
    once = redaction.text(text)
    assert redaction.text(once) == once


@given(st.from_regex(re.compile(r"mpt_[0-9A-Za-z]{36}"), fullmatch=True), st.text())
def test_no_token_survives_in_any_surroundings(token: str, around: str):
    assert token not in redaction.text(f"{around} {token} {around}")


def test_long_hostile_text_takes_linear_time():
    def seconds(length: int) -> float:
        text = ("password" * length) + ("eyJ" * length) + ("a_" * length)
        begun = time.perf_counter()
        redaction.text(text)
        return time.perf_counter() - begun

    seconds(100)
    assert seconds(20_000) < 200 * max(seconds(1000), 0.0005)


# The watch over the suite's log sees what it is there for.


@pytest.mark.django_db
def test_requests_of_the_suite_are_scanned(log_scan: LogScan):
    before = log_scan.records
    api_of(person("owner")).get("/api/groups")
    assert log_scan.records >= before + 2


def test_a_password_in_a_line_is_found():
    scan = LogScan()
    scan.passwords.add("correct-horse")
    logger = logging.getLogger("scanned")
    logger.addHandler(scan)
    logger.propagate = False
    try:
        logger.warning("harmless")
        assert scan.found() == []
        logger.warning("signed in with %s", "correct-horse")
        assert len(scan.found()) == 1
        # A token is hidden by the formatter, so this line is clean.
        logger.warning("used %s", "mpt_" + "a" * 36)
        assert len(scan.found()) == 1
    finally:
        logger.removeHandler(scan)
        logger.propagate = True
