"""Log lines: fields, context, secrets, one line per record."""

import json
import logging
import re
from typing import Any

import pytest

from meshmgmt.core import context
from observability.logs import loglevels
from observability.logs.formats import JsonFormatter, TextFormatter


def record(
    message: str = "hello", level: int = logging.INFO, **extra: Any
) -> logging.LogRecord:
    made = logging.getLogger("test").makeRecord(
        "room.part", level, "f.py", 1, message, (), None, extra=extra
    )
    assert isinstance(made, logging.LogRecord)
    return made


def json_line(made: logging.LogRecord) -> dict[str, Any]:
    line = JsonFormatter().format(made)
    assert "\n" not in line
    found: dict[str, Any] = json.loads(line)
    return found


def test_a_line_has_time_level_and_message():
    found = json_line(record(level=logging.WARNING))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", found["time"])
    assert found["level"] == "warn"
    assert found["msg"] == "hello"


@pytest.mark.parametrize(("name", "number"), loglevels.NUMBERS.items())
def test_levels_carry_the_names_of_the_seed(name: str, number: int):
    assert json_line(record(level=number))["level"] == name


def test_facts_of_the_request_are_on_the_line_when_known():
    with context.scope(request_id="r1", account_id="a1", user_id="u1", peer_id=""):
        found = json_line(record())
    known = ("request_id", "account_id", "user_id", "peer_id")
    told = {name: found[name] for name in known if name in found}
    assert told == {"request_id": "r1", "account_id": "a1", "user_id": "u1"}


def test_extra_fields_are_kept_and_their_secrets_hidden():
    found = json_line(record(zone="corp", password="hunter22", nested={"token": "x"}))
    assert found["zone"] == "corp"
    assert found["password"] == "[redacted]"
    assert found["nested"] == {"token": "[redacted]"}


def test_a_stack_trace_is_on_the_line_without_secrets():
    made = record()
    try:
        raise ValueError("password=hunter22")
    except ValueError as error:
        made.exc_info = (ValueError, error, error.__traceback__)
    found = json_line(made)
    assert "ValueError" in found["stack"]
    assert "hunter22" not in found["stack"]


def test_values_no_json_knows_are_written_as_text():
    assert json_line(record(thing=object()))["thing"].startswith("<object")


def test_a_text_line_cannot_forge_another_record():
    line = TextFormatter().format(record("bad\n2026-01-01 ERROR forged", name2="a\nb"))
    assert "\n" not in line
    assert "forged" in line


def test_a_text_line_names_its_fields():
    with context.scope(request_id="r1"):
        line = TextFormatter().format(record(path="/a b", status=200))
    assert " INFO  hello " in line
    assert "request_id=r1" in line
    assert 'path="/a b"' in line
    assert "status=200" in line
