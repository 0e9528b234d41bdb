"""`manage.py ingest`: each event of a log is stored once, faults cost their line alone."""

import gzip
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from django.core.management import CommandError, load_command_class
from django.db import OperationalError, connection
from hypothesis import assume, given
from hypothesis import strategies as st

from events.logfiles import intake
from events.models import ProxyEntry, TrafficEvent
from events.streams import store
from tests.events.commands import combined, run, write
from tests.events.samples import moment, proxy, traffic

pytestmark = pytest.mark.django_db


def told(*arguments: str, **options: Any) -> tuple[int, int, int, int]:
    """Run ingest for proxy entries; return its counts: lines, stored, known, wrong."""
    out, _ = run("ingest", "proxy", *arguments, **options)
    found = re.findall(r"\d+", out)
    assert len(found) == 4
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


def test_a_file_is_stored_and_again_changes_nothing(tmp_path: Path):
    log = write(tmp_path / "log", traffic(), traffic(protocol=17), traffic())
    assert run("ingest", "traffic", str(log)) == (
        "3 lines: 3 stored, 0 known already, 0 wrong\n",
        0,
    )
    assert "0 stored, 3 known already" in run("ingest", "traffic", str(log))[0]
    assert TrafficEvent.objects.count() == 3


def test_bad_lines_are_counted_and_kept_with_their_numbers(tmp_path: Path):
    log = write(
        tmp_path / "log",
        proxy(),
        b"{oops",
        b"",
        proxy(status_code=-1),
        b"\xff",
        proxy(timestamp="2001-01-01T00:00:00Z"),
        b'{"a":' * 900 + b"1" + b"}" * 900,
        proxy(path="/last"),
    )
    aside = tmp_path / "aside"
    out, status = run("ingest", "proxy", str(log), bad_lines=aside)
    assert (out, status) == ("7 lines: 2 stored, 0 known already, 5 wrong\n", 1)
    kept = [line.split(b"\t") for line in aside.read_bytes().splitlines()]
    assert [number for number, _, _ in kept] == [b"2", b"4", b"5", b"6", b"7"]
    assert b"status_code" in kept[1][1]
    assert kept[0][2] == b"{oops"


def test_an_id_that_clashes_spoils_only_its_lines(tmp_path: Path):
    told(str(write(tmp_path / "a", proxy(id="x", timestamp=moment(9)))))
    clash, aside = proxy(id="x"), tmp_path / "aside"
    log = write(tmp_path / "b", proxy(id="y"), clash, proxy(id="z"), clash)
    assert told(str(log), bad_lines=aside) == (4, 2, 0, 2)
    fault = "id: is stored already with another time"
    found = [line.split("\t")[:2] for line in aside.read_text().splitlines()]
    assert found == [["2", fault], ["4", fault]]


@pytest.mark.parametrize("batch", [1, 2, 3, 5000])
def test_what_becomes_of_a_repeated_id_does_not_depend_on_batches(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("events.logfiles.intake.BATCH", batch)
    same = proxy(id="x", timestamp=moment(9))
    other = proxy(id="x", timestamp=moment(8))
    untimed = proxy(id="x")
    del untimed["timestamp"]
    log = write(tmp_path / "log", same, same, proxy(id="y"), other, untimed, same)
    aside = tmp_path / "aside"
    assert told(str(log), bad_lines=aside) == (6, 2, 3, 1)
    assert aside.read_bytes().startswith(b"4\t")


def test_equal_lines_are_different_events_and_so_are_those_of_two_hosts(tmp_path: Path):
    log = write(tmp_path / "log", combined(1), combined(1), combined(2))
    for host in ("Wiki.Internal", "web2"):
        assert told(str(log), format="nginx", host=host) == (3, 3, 0, 0)
        assert told(str(log), format="nginx", host=host) == (3, 0, 3, 0)
    hosts = {entry.host for entry in ProxyEntry.objects.all()}
    assert hosts == {"wiki.internal", "web2"}


def test_a_served_request_is_stored_whatever_the_client_sent(tmp_path: Path):
    line = combined(1, r"/bad\xFF" + "x" * 9000).replace(b"192.0.2.1", b"unix:")
    log = write(tmp_path / "log", line)
    assert told(str(log), format="nginx") == (1, 1, 0, 0)
    content = ProxyEntry.objects.get().content
    assert content["metadata"] == {"truncated": "path"}
    assert "source_ip" not in content


class TestPipe:
    """Standard input and FIFOs."""

    @pytest.fixture
    def pipe(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
        """Connect standard input; returns the descriptor to write to."""
        reading, writing = os.pipe()
        with os.fdopen(reading) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            yield writing

    def test_standard_input_is_read_to_its_end(self, pipe: int):
        os.write(pipe, orjson.dumps(proxy()) + b"\n" + orjson.dumps(proxy(path="/2")))
        os.close(pipe)
        assert told("-") == (2, 2, 0, 0)

    def test_a_fifo_is_read_as_a_pipe(self, tmp_path: Path):
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        line = orjson.dumps(proxy()) + b"\n"
        writer = threading.Thread(target=lambda: fifo.write_bytes(line * 2))
        writer.start()
        assert told(str(fifo)) == (2, 2, 0, 0)
        writer.join()

    def test_closed_standard_input_is_refused(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(CommandError, match="standard input is closed"):
            run("ingest", "proxy", "-")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_compressed_logs_are_read_with_all_their_parts(
    tmp_path: Path, pack: Callable[[bytes], bytes]
):
    log = tmp_path / "log"
    one, two = (orjson.dumps(proxy(path=f"/{n}")) + b"\n" for n in (1, 2))
    log.write_bytes(pack(one + two[:9]) + pack(two[9:]))
    assert told(str(log)) == (2, 2, 0, 0)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
@pytest.mark.parametrize("damage", [b"", b"\0" * 9])
def test_what_could_be_read_of_a_damaged_log_is_stored(
    tmp_path: Path, pack: Callable[[bytes], bytes], damage: bytes
):
    log = tmp_path / "log"
    whole = orjson.dumps(proxy()) + b"\n"
    log.write_bytes(pack(whole) + pack(whole * 500)[:-9] + damage)
    with pytest.raises(CommandError, match="the log is damaged"):
        run("ingest", "proxy", str(log))
    assert ProxyEntry.objects.count() >= 1


def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path: Path):
    log = write(tmp_path / "log", b"\xef\xbb\xbf" + orjson.dumps(proxy()) + b"\r")
    assert told(str(log)) == (1, 1, 0, 0)


def test_of_an_endless_line_only_the_beginning_is_kept(tmp_path: Path):
    log = write(tmp_path / "log", b"a" * 3 * intake.MAX_LINE, proxy())
    aside = tmp_path / "aside"
    assert told(str(log), bad_lines=aside) == (2, 1, 0, 1)
    assert aside.stat().st_size < 2 * intake.MAX_LINE


@given(st.binary(), st.sampled_from([gzip.compress, zstandard.compress, bytes]))
def test_lines_are_those_of_the_text(text: bytes, pack: Callable[[bytes], bytes]):
    assume(not text.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf")))
    reading_end, writing_end = os.pipe()
    with os.fdopen(writing_end, "wb") as file:
        file.write(pack(text))
    with os.fdopen(reading_end, "rb") as file:
        found = [line for line in intake.lines(file) if line is not None]
    assert b"\n".join(found) == text.removesuffix(b"\n")


def test_files_and_arguments_that_cannot_be_used_are_refused_each_with_its_reason(
    tmp_path: Path,
):
    log, absent = write(tmp_path / "log", proxy()), tmp_path / "absent"
    refused: list[tuple[Path, dict[str, Any], str]] = [
        (log, {"bad_lines": absent / "aside"}, "aside cannot be written"),
        (log, {"bad_lines": tmp_path}, "--bad-lines: .* cannot be written"),
        (log, {"bad_lines": log}, "--bad-lines: .* is the log that is read"),
        (absent, {}, "absent cannot be read: No such"),
        (tmp_path, {}, "cannot be read: Is a directory"),
        (log / "below", {}, "cannot be read: Not a directory"),
    ]
    for path, options, words in refused:
        with pytest.raises(CommandError, match=words):
            run("ingest", "proxy", str(path), **options)
    with pytest.raises(CommandError, match="ndjson"):
        run("ingest", "traffic", str(log), format="nginx")
    assert ProxyEntry.objects.count() == 0


def test_a_database_without_tables_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = write(tmp_path / "log", proxy())
    monkeypatch.setattr(ProxyEntry._meta, "db_table", "not_there")
    with pytest.raises(CommandError, match=r"run manage\.py migrate"):
        run("ingest", "proxy", str(log))


def test_a_database_that_fails_is_said_with_the_lines_that_are_missing(tmp_path: Path):
    log = write(tmp_path / "log", proxy(), proxy(path="/2"))

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith("INSERT INTO events_proxytally"):
            raise OperationalError("database is locked")
        return execute(sql, *rest)

    words = "last 2 lines are not stored: database is locked"
    with connection.execute_wrapper(fail), pytest.raises(CommandError, match=words):
        run("ingest", "proxy", str(log))
    assert ProxyEntry.objects.count() == 0


def test_days_that_are_dropped_again_and_again_are_said_with_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(store, "ATTEMPTS", 0)
    log = write(tmp_path / "log", proxy())
    with pytest.raises(CommandError, match="last 1 lines are not stored: the days of"):
        run("ingest", "proxy", str(log))


def test_help_says_what_every_argument_is():
    parser = load_command_class("events", "ingest").create_parser("manage.py", "ingest")
    assert not [a.dest for a in parser._actions if not a.help]
