"""`manage.py ingest`: each event of a log is stored once, faults cost their line alone."""

import gzip
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError
from django.db import OperationalError, connection

from events.lines.ndjson import parse_ndjson
from events.models import ProxyEntry, TrafficEvent
from events.streams.catalogue import PROXY
from events.streams.identity import DerivedIds
from events.tailing import following, storage
from events.tailing.intake import Intake
from events.tailing.lines import Line
from events.tailing.storage import Storage, StorageFault
from tests.events.commands import combined, run, write
from tests.events.samples import moment, proxy, traffic

pytestmark = pytest.mark.django_db


def told(*arguments: str, **options: Any) -> tuple[int, int, int, int]:
    """Run ingest for proxy entries; return its counts: lines, stored, known, wrong."""
    out, _ = run("ingest", "proxy", *arguments, **options)
    found = re.findall(r"\d+", out)
    assert len(found) == 4
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


def test_a_file_is_stored_and_again_changes_nothing(tmp_path: Path) -> None:
    log = write(tmp_path / "log", traffic(), traffic(protocol=17), traffic())
    assert run("ingest", "traffic", str(log)) == (
        "3 lines: 3 stored, 0 known already, 0 wrong\n",
        0,
    )
    assert "0 stored, 3 known already" in run("ingest", "traffic", str(log))[0]
    assert TrafficEvent.objects.count() == 3


def test_bad_lines_are_counted_and_kept_with_their_numbers(tmp_path: Path) -> None:
    log = write(
        tmp_path / "log",
        proxy(),
        b"{oops",
        b"",
        proxy(status_code=-1),
        b"\xff",
        proxy(timestamp="2001-01-01T00:00:00Z"),
        proxy(path="/last"),
    )
    aside = tmp_path / "aside"
    out, status = run("ingest", "proxy", str(log), bad_lines=aside)
    assert (out, status) == ("6 lines: 2 stored, 0 known already, 4 wrong\n", 1)
    kept = [line.split(b"\t") for line in aside.read_bytes().splitlines()]
    assert [number for number, _, _ in kept] == [b"2", b"4", b"5", b"6"]
    assert b"status_code" in kept[1][1]
    assert kept[0][2] == b"{oops"


def test_an_id_that_clashes_spoils_only_its_line(tmp_path: Path) -> None:
    told(str(write(tmp_path / "a", proxy(id="x", timestamp=moment(9)))))
    log = write(tmp_path / "b", proxy(id="y"), proxy(id="x"), proxy(id="z"))
    aside = tmp_path / "aside"
    assert told(str(log), bad_lines=aside) == (3, 2, 0, 1)
    number, fault, _ = aside.read_bytes().split(b"\t")
    assert (number, fault) == (b"2", b"id: is stored already with another time")


@pytest.mark.parametrize("batch", [1, 2, 3, 5000])
def test_what_becomes_of_a_repeated_id_does_not_depend_on_batches(
    tmp_path: Path, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("events.tailing.intake.BATCH", batch)
    same = proxy(id="x", timestamp=moment(9))
    other = proxy(id="x", timestamp=moment(8))
    untimed = proxy(id="x")
    del untimed["timestamp"]
    log = write(tmp_path / "log", same, same, proxy(id="y"), other, untimed, same)
    aside = tmp_path / "aside"
    assert told(str(log), bad_lines=aside) == (6, 2, 3, 1)
    assert aside.read_bytes().startswith(b"4\t")


def test_a_repetition_of_a_refused_event_is_refused(tmp_path: Path) -> None:
    told(str(write(tmp_path / "a", proxy(id="x", timestamp=moment(9)))))
    clash = proxy(id="x")
    assert told(str(write(tmp_path / "b", clash, clash))) == (2, 0, 0, 2)


def test_equal_lines_are_different_events(tmp_path: Path) -> None:
    log = write(tmp_path / "log", combined(1), combined(1), combined(2))
    options = {"format": "nginx", "host": "Wiki.Internal"}
    assert told(str(log), **options) == (3, 3, 0, 0)
    assert told(str(log), **options) == (3, 0, 3, 0)
    assert {entry.host for entry in ProxyEntry.objects.all()} == {"wiki.internal"}


def test_equal_lines_of_two_hosts_are_different_events(tmp_path: Path) -> None:
    log = write(tmp_path / "log", combined(1))
    for host in ("web1", "web2"):
        assert told(str(log), format="nginx", host=host) == (1, 1, 0, 0)
    assert told(str(log), format="nginx", host="web2") == (1, 0, 1, 0)


def test_a_served_request_is_stored_whatever_the_client_sent(tmp_path: Path) -> None:
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

    def test_standard_input_is_read_to_its_end(self, pipe: int) -> None:
        os.write(pipe, orjson.dumps(proxy()) + b"\n" + orjson.dumps(proxy(path="/2")))
        os.close(pipe)
        assert told("-") == (2, 2, 0, 0)

    def test_a_fifo_is_read_as_a_pipe(self, tmp_path: Path) -> None:
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        line = orjson.dumps(proxy()) + b"\n"
        writer = threading.Thread(target=lambda: fifo.write_bytes(line * 2))
        writer.start()
        assert told(str(fifo)) == (2, 2, 0, 0)
        writer.join()

    def test_closed_standard_input_is_refused(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", None)
        with pytest.raises(CommandError, match="standard input is closed"):
            run("ingest", "proxy", "-")

    def test_a_checkpoint_of_a_pipe_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="--checkpoint needs"):
            run("ingest", "proxy", "-", checkpoint=tmp_path / "mark")


def test_a_checkpoint_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log, options = tmp_path / "log", nginx(tmp_path)
    write(log, combined(1), combined(1))
    assert told(str(log), **options) == (2, 2, 0, 0)
    with log.open("ab") as file:
        file.write(combined(1) + b"\n" + combined(2) + b"\n")
    assert told(str(log), **options) == (2, 2, 0, 0)
    assert told(str(log), format="nginx") == (4, 0, 4, 0)


def nginx(folder: Path) -> dict[str, Any]:
    """Return the options of a run with a checkpoint."""
    return {"format": "nginx", "checkpoint": folder / "mark"}


def test_equal_lines_of_a_rotated_and_a_new_log_are_different_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "GRACE_SECONDS", 0)
    log, options = tmp_path / "log", nginx(tmp_path)
    write(log, combined(1), combined(2), combined(2))
    assert told(str(log), **options) == (3, 3, 0, 0)
    log.rename(tmp_path / "log.1")
    write(log, combined(2), combined(3))
    assert told(str(log), **options) == (2, 2, 0, 0)
    # Each file alone is known.
    assert told(str(log), format="nginx") == (2, 0, 2, 0)
    assert told(str(tmp_path / "log.1"), format="nginx") == (3, 0, 3, 0)


def test_a_copy_in_place_of_the_log_is_not_stored_again(tmp_path: Path) -> None:
    log, options = tmp_path / "log", nginx(tmp_path)
    write(log, *[combined(second) for second in range(30)])
    assert told(str(log), **options) == (30, 30, 0, 0)
    (tmp_path / "copy").write_bytes(log.read_bytes())
    (tmp_path / "copy").rename(log)
    assert told(str(log), **options) == (0, 0, 0, 0)
    # Cut in the middle, it is read again, and its lines are known.
    os.truncate(log, len(combined(1) + b"\n") * 20)
    assert told(str(log), **options) == (20, 0, 20, 0)


def test_a_half_written_line_waits_for_the_next_run(tmp_path: Path) -> None:
    log, options = tmp_path / "log", nginx(tmp_path)
    log.write_bytes(combined(1) + b"\n" + combined(2)[:30])
    assert told(str(log), **options) == (1, 1, 0, 0)
    with log.open("ab") as file:
        file.write(combined(2)[30:] + b"\n")
    assert told(str(log), **options) == (1, 1, 0, 0)
    log.write_bytes(combined(3))
    assert told(str(log), format="nginx") == (1, 1, 0, 0)


def test_compressed_logs_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(gzip.compress(b"\xef\xbb\xbf" + orjson.dumps(proxy()) + b"\n"))
    assert told(str(log)) == (1, 1, 0, 0)


def test_what_could_be_read_of_a_damaged_log_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log"
    lines = b"".join(orjson.dumps(proxy(path=f"/{n}")) + b"\n" for n in range(9))
    log.write_bytes(gzip.compress(lines)[:-9] + b"\0")
    with pytest.raises(CommandError, match="damaged"):
        run("ingest", "proxy", str(log))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checkpoint": "absent/mark"}, "--checkpoint: .* No such file"),
        ({"checkpoint": "."}, "--checkpoint: .* cannot be used"),
        ({"checkpoint": "log"}, "--checkpoint: .*not a checkpoint"),
        ({"bad_lines": "absent/aside"}, "--bad-lines: .* cannot be written"),
        ({"bad_lines": "."}, "--bad-lines: .* cannot be written"),
        ({"bad_lines": "log"}, "--bad-lines: .* is the log that is read"),
    ],
)
def test_files_that_cannot_be_used_are_refused_before_anything_is_stored(
    tmp_path: Path, options: dict[str, str], words: str
) -> None:
    log = write(tmp_path / "log", proxy())
    paths = {name: tmp_path / path for name, path in options.items()}
    with pytest.raises(CommandError, match=words):
        run("ingest", "proxy", str(log), **paths)
    assert ProxyEntry.objects.count() == 0


def test_wrong_arguments_are_refused_each_with_its_reason(tmp_path: Path) -> None:
    log = write(tmp_path / "log", proxy())
    with pytest.raises(CommandError, match="ndjson"):
        run("ingest", "traffic", str(log), format="nginx")
    with pytest.raises(CommandError, match=r"there is no file .*absent"):
        run("ingest", "traffic", str(tmp_path / "absent"))
    with pytest.raises(CommandError, match="is a folder"):
        run("ingest", "traffic", str(tmp_path))
    with pytest.raises(CommandError, match="cannot be read: Not a directory"):
        run("ingest", "traffic", str(log / "below"))


def test_a_database_without_tables_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "log", proxy())
    monkeypatch.setattr(ProxyEntry._meta, "db_table", "not_there")
    with pytest.raises(CommandError, match=r"run manage\.py migrate"):
        run("ingest", "proxy", str(log))


class Outage:
    """A database that refuses a number of writes."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals

    def __call__(self, execute: Any, sql: str, *rest: Any) -> Any:
        """Refuse an insertion, or let it through."""
        if sql.startswith("INSERT INTO events_proxy") and self.refusals:
            self.refusals -= 1
            raise OperationalError("database is locked")
        return execute(sql, *rest)


def stored_in_spite_of(refusals: int, *, patient: bool) -> tuple[Intake, list[str]]:
    """Store one entry while the database refuses writes; return what was said."""
    intake = Intake(PROXY, parse_ndjson, lambda *line: None, DerivedIds())
    intake.add(Line(1, orjson.dumps(proxy()), 99))
    said: list[str] = []
    keeper = Storage(
        intake, None, mark=None, patient=patient, stopped=lambda: False, say=said.append
    )
    with connection.execute_wrapper(Outage(refusals)):
        keeper.store()
    return intake, said


@pytest.mark.sqlite
def test_a_busy_database_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "RETRY_SECONDS", 0)
    monkeypatch.setattr(connection, "close", lambda: None)  # the test's transaction
    intake, said = stored_in_spite_of(3, patient=True)
    assert (intake.counts.accepted, intake.waiting) == (1, 0)
    assert "database is locked" in said[0]
    assert len(said) == 2


@pytest.mark.sqlite
def test_a_single_run_does_not_wait_for_a_busy_database() -> None:
    with pytest.raises(StorageFault, match="last 1 lines are not stored: database is"):
        stored_in_spite_of(1, patient=False)


def test_help_says_what_every_argument_is() -> None:
    from events.management.commands.ingest import Command  # noqa: PLC0415

    parser = Command().create_parser("manage.py", "ingest")
    assert not [a.dest for a in parser._actions if not a.help]
