"""Levels that change while a server runs: everywhere, for some requests, for a time."""

import json
import logging
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command

from meshmgmt.core import context
from observability.logs import loglevels
from observability.logs.loglevels import Control, Levels, Rule
from tests.servers import Server
from tests.waiting import until


@pytest.fixture
def levels(tmp_path: Path) -> Iterator[Levels]:
    """Levels that follow a folder, and leave the loggers as they were."""
    logger = logging.getLogger()
    before = logger.level
    made = Levels()
    made.start(logging.INFO)
    made.follow(tmp_path)
    yield made
    loglevels.reset(tmp_path)
    made.refresh()
    loglevels.LEVELS.start(loglevels.LEVELS.base)
    logger.setLevel(before)


def passes(levels: Levels, name: str, level: int) -> bool:
    """Tell whether a record would be written."""
    logger = logging.getLogger(name)
    if not logger.isEnabledFor(level):
        return False
    record = logger.makeRecord(name, level, "f", 1, "m", (), None)
    return levels.filter(record)


def change(levels: Levels, rule: Rule) -> None:
    assert levels.runtime_dir is not None
    loglevels.add(levels.runtime_dir, rule)
    levels.refresh()


def test_a_change_holds_for_all_loggers(levels: Levels):
    assert not passes(levels, "dns.zones", logging.DEBUG)
    change(levels, Rule("debug"))
    assert passes(levels, "dns.zones", logging.DEBUG)
    change(levels, Rule("error"))
    assert not passes(levels, "dns.zones", logging.WARNING)


def test_a_change_for_one_logger_leaves_the_others(levels: Levels):
    change(levels, Rule("debug", logger="dns"))
    assert passes(levels, "dns.zones", logging.DEBUG)
    assert not passes(levels, "groups", logging.DEBUG)
    assert not passes(levels, "dnsx", logging.DEBUG)


def test_a_timed_change_ends_by_itself_and_shows_what_was_before(levels: Levels):
    with time_machine.travel(1_800_000_000, tick=False) as clock:
        change(levels, Rule("warn"))
        change(levels, Rule("debug", expires=1_800_000_600))
        assert passes(levels, "x", logging.DEBUG)
        clock.shift(599)
        levels.refresh()
        assert passes(levels, "x", logging.DEBUG)
        clock.shift(1)
        levels.refresh()
        assert not passes(levels, "x", logging.INFO)
        assert passes(levels, "x", logging.WARNING)


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (Rule("trace", path="/api/dns/*"), {"path": "/api/dns/zones"}, {"path": "/x"}),
        (Rule("trace", user_id="u1"), {"user_id": "u1"}, {"user_id": "u2"}),
        (Rule("trace", request_id="r1"), {"client_request_id": "r1"}, {}),
        (
            Rule("trace", user_id="u1", path="/api/*"),
            {"user_id": "u1", "path": "/api/x"},
            {"user_id": "u1", "path": "/x"},
        ),
    ],
)
def test_a_scoped_change_concerns_matching_requests_alone(
    levels: Levels, rule: Rule, inside: dict[str, Any], outside: dict[str, Any]
):
    change(levels, rule)
    with context.scope(**inside):
        assert passes(levels, "x", 5)
    with context.scope(**outside):
        assert not passes(levels, "x", 5)
        assert not passes(levels, "x", logging.DEBUG)
        assert passes(levels, "x", logging.INFO)
    loglevels.remove(levels.runtime_dir or Path(), rule.id)
    levels.refresh()
    with context.scope(**inside):
        assert not passes(levels, "x", 5)


def test_calls_below_the_level_format_nothing(levels: Levels):
    class Costly:
        def __str__(self) -> str:
            raise AssertionError("formatted")

    change(levels, Rule("trace", path="/api/dns/*"))
    handler = logging.StreamHandler(open(os.devnull, "w"))  # noqa: PTH123, SIM115
    handler.addFilter(levels)
    logger = logging.getLogger("costly")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with context.scope(path="/other"):
            logger.debug("x %s", Costly())
            logger.log(5, "x %s", Costly())
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.stream.close()


def test_a_lasting_change_replaces_what_was_said_before(tmp_path: Path):
    loglevels.add(tmp_path, Rule("debug", expires=time.time() + 60))
    loglevels.add(tmp_path, Rule("trace", path="/x"))
    loglevels.add(tmp_path, Rule("warn"))
    rules = loglevels.read(tmp_path).rules
    assert [(r.level, r.path) for r in rules] == [("trace", "/x"), ("warn", "")]


def test_what_was_said_before_a_debug_run_holds_again_after_it(tmp_path: Path):
    timed, run = (Rule(level, expires=time.time() + 60) for level in ("debug", "trace"))
    loglevels.add(tmp_path, timed)
    loglevels.add_for_a_run(tmp_path, run, capture_until=time.time() + 60)
    assert loglevels.read(tmp_path).rules == (timed, run)
    loglevels.remove(tmp_path, run.id)
    assert loglevels.read(tmp_path) == loglevels.Control((timed,))


def test_an_unreadable_file_leaves_the_levels_and_a_request_goes_on(levels: Levels):
    change(levels, Rule("debug"))
    assert levels.runtime_dir is not None
    (levels.runtime_dir / loglevels.FILE).write_text("{")
    for _ in range(2):  # what could not be read is looked at again
        with pytest.raises(json.JSONDecodeError):
            levels.refresh()
        assert passes(levels, "x", logging.DEBUG)
    levels.refresh_if_due()  # as the middleware does, before it answers
    assert passes(levels, "x", logging.DEBUG)


def test_the_description_names_each_change():
    with time_machine.travel(1_800_000_000, tick=False):
        rules = (
            Rule("debug", logger="dns"),
            Rule("trace", expires=1_800_000_060, path="/api/*"),
        )
        lines = list(loglevels.describe("info", Control(rules)))
    assert lines == [
        "info (configured)",
        "debug for logger dns",
        "trace for path /api/* for another 60s",
    ]


def sql_lines(server: Server) -> list[dict[str, Any]]:
    return [r for r in server.records(level="trace") if r["logger"] == "sql"]


def traced(server: Server, path: str) -> bool:
    """Send a request and tell whether trace lines of it were printed."""
    request_id = server.get(path).headers["x-request-id"]
    until(lambda: server.records(request_id=request_id, msg="HTTP response"), "a line")
    return bool([r for r in sql_lines(server) if r["request_id"] == request_id])


@pytest.mark.sqlite
@pytest.mark.slow
def test_all_workers_follow_and_new_ones_too(folder: Path):
    with Server(folder, "--workers", "2") as server:
        assert not traced(server, "/readyz")
        answer = server.manage("log_level", "TRACE")
        assert answer.splitlines() == ["info (configured)", "trace"]
        pids = lambda: {r["pid"] for r in sql_lines(server)}  # noqa: E731
        until(
            lambda: server.get("/readyz").status and server.workers() <= pids(), "all"
        )
        victim = min(server.workers())
        os.kill(victim, signal.SIGKILL)
        fresh = until(lambda: server.workers() - pids(), "a new worker")
        until(lambda: server.get("/readyz").status and fresh <= pids(), "the new one")

        lines = server.manage("debug", "log", "level", "info")
        assert lines.splitlines() == ["info (configured)", "info"]
        until(lambda: not traced(server, "/readyz"), "level info again")
        server.manage("log_level", "trace")
        server.stop(signal.SIGTERM)
        server.start()
        assert not traced(server, "/readyz")
        assert server.manage("log_level") == "info (configured)\n"


@pytest.mark.sqlite
@pytest.mark.slow
def test_scoped_and_timed_changes_in_a_running_server(folder: Path):
    with Server(folder) as server:
        server.manage("log_level", "trace", "--path", "/read*", "--for", "10s")
        until(lambda: traced(server, "/readyz"), "trace lines")
        assert not traced(server, "/api/dns/zones")
        # Whoever made the change may be gone: the time in the file ends it.
        until(lambda: not traced(server, "/readyz"), "the end of the change")
        mine = {"X-Request-Id": "support-4711"}
        server.manage("log_level", "trace", "--request-id", "support-4711")
        until(
            lambda: (
                server.get("/readyz", **mine).status
                and server.records(level="trace", client_request_id="support-4711")
            ),
            "trace lines of the one request",
        )
        assert not traced(server, "/readyz")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("loud",), "'loud' is not a log level: use trace, debug, info, warn, error"),
        (("debug", "--for", "soon"), "'soon' is not a duration: use for example 30s"),
        (("debug", "--for", "25h"), "'25h' is not a duration"),
        (("debug", "--for", ""), "'' is not a duration"),
        (("--path", "/x"), "a level is missing"),
        (("--for", ""), "a level is missing"),
        (("trace", "--user", ""), "--user '' names nothing: give the id of a user"),
        (("trace", "--request-id", " "), "--request-id ' ' names nothing"),
        (("trace", "--logger", ""), "--logger '' names nothing"),
        (("trace", "--path", ""), "--path '' names nothing"),
        (("trace", "--path", "api"), "--path 'api' matches nothing: give a path"),
    ],
)
def test_an_unusable_value_changes_nothing(
    serving: Path, words: tuple[str, ...], sentence: str
):
    with pytest.raises(CommandError, match=re.escape(sentence)) as refused:
        call_command("log_level", *words)
    assert refused.value.returncode == 2
    assert len(str(refused.value).splitlines()) == 1
    assert not loglevels.read(serving).rules


@pytest.mark.parametrize(
    "words", [("log_level", "debug"), ("log_level",), ("debug", "for", "1s")]
)
def test_without_a_server_one_sentence_says_so(idle: Path, words: tuple[str, ...]):
    sentence = f"no server is running with the runtime directory {idle}"
    with pytest.raises(CommandError, match=f"^{re.escape(sentence)}$") as refused:
        call_command(*words)
    assert refused.value.returncode == 1


@pytest.mark.parametrize("value", ["LOUD", ""])
def test_a_wrong_level_in_the_environment_is_refused(folder: Path, value: str):
    server = Server(folder, content="", SVC_LOG_LEVEL=value)
    answer = server.tried("log_level")
    assert answer.returncode == 2
    assert "SVC_LOG_LEVEL" in answer.stderr
    assert sys.executable not in answer.stderr
