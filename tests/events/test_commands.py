"""Commands of the event streams: ingest, prune_events, audit."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command, load_command_class
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.activities import Activity
from events.lines.ndjson import parse_ndjson
from events.models import AuditEvent, ProxyEntry, TrafficEvent
from events.streams.catalogue import PROXY
from events.streams.identity import DerivedIds
from events.tailing import lines
from events.tailing.checkpoint import Checkpoint
from events.tailing.intake import Intake
from events.tailing.lines import Line, Start, read_file
from events.trail import reading
from meshmgmt.core import clock
from tests.events.samples import moment, proxy, traffic

pytestmark = pytest.mark.django_db


def run(*arguments: str, **options: Any) -> tuple[str, int]:
    """Run a command and return what it printed and its exit status."""
    out = StringIO()
    status = 0
    try:
        call_command(*arguments, stdout=out, **options)
    except SystemExit as end:
        status = int(end.code or 0)
    return out.getvalue(), status


def write(path: Path, *events: Any) -> Path:
    """Write one line per event; bytes are written as they are."""
    raw = [
        event if isinstance(event, bytes) else orjson.dumps(event) for event in events
    ]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def combined(second: int, path: str = "/") -> bytes:
    """Return a line of nginx's combined log, written today."""
    at = clock.now().strftime("%d/%b/%Y:%H:%M:")
    return (
        f'192.0.2.1 - - [{at}{second:02d} +0000] "GET {path} HTTP/1.1" 200 5 "-" "x"'
    ).encode()


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
    run(
        "ingest",
        "proxy",
        str(write(tmp_path / "a", proxy(id="x", timestamp=moment(9)))),
    )
    log = write(tmp_path / "b", proxy(id="y"), proxy(id="x"), proxy(id="z"))
    aside = tmp_path / "aside"
    out, _ = run("ingest", "proxy", str(log), bad_lines=aside)
    assert out == "3 lines: 2 stored, 0 known already, 1 wrong\n"
    assert aside.read_bytes().startswith(b"2\t")


def test_equal_lines_are_different_events(tmp_path: Path) -> None:
    log = write(tmp_path / "log", combined(1), combined(1), combined(2))
    for expected in ("3 stored", "0 stored, 3 known"):
        out, _ = run("ingest", "proxy", str(log), format="nginx", host="wiki.internal")
        assert expected in out
    assert {entry.host for entry in ProxyEntry.objects.all()} == {"wiki.internal"}


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Source:
        buffer = [orjson.dumps(proxy()) + b"\n", orjson.dumps(proxy(path="/2"))]

    monkeypatch.setattr("sys.stdin", Source)
    assert "2 stored" in run("ingest", "proxy", "-")[0]


def test_a_checkpoint_goes_on_where_it_stopped(tmp_path: Path) -> None:
    log, mark = tmp_path / "log", tmp_path / "mark"
    write(log, combined(1), combined(1))
    assert (
        "2 lines: 2 stored"
        in run("ingest", "proxy", str(log), format="nginx", checkpoint=mark)[0]
    )
    with log.open("ab") as file:
        file.write(combined(1) + b"\n" + combined(2) + b"\n")
    out, _ = run("ingest", "proxy", str(log), format="nginx", checkpoint=mark)
    assert out == "2 lines: 2 stored, 0 known already, 0 wrong\n"
    assert run("ingest", "proxy", str(log), format="nginx")[0].startswith(
        "4 lines: 0 stored"
    )


def test_a_checkpoint_of_a_rotated_log_starts_anew(tmp_path: Path) -> None:
    log, mark = tmp_path / "log", tmp_path / "mark"
    write(log, proxy(), proxy(path="/2"))
    run("ingest", "proxy", str(log), checkpoint=mark)
    log.rename(tmp_path / "log.1")
    write(log, proxy(path="/3"))
    assert "1 lines: 1 stored" in run("ingest", "proxy", str(log), checkpoint=mark)[0]


def test_a_foreign_checkpoint_is_refused(tmp_path: Path) -> None:
    log = write(tmp_path / "log", proxy())
    with pytest.raises(CommandError, match="not a checkpoint"):
        run("ingest", "proxy", str(log), checkpoint=log)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    log = write(tmp_path / "log", proxy())
    with pytest.raises(CommandError, match="ndjson"):
        run("ingest", "traffic", str(log), format="nginx")
    with pytest.raises(CommandError, match="not a file"):
        run("ingest", "traffic", str(tmp_path / "absent"))


def following(path: Path, start: Start, script: list[Callable[[], Any]]) -> list[bytes]:
    """Follow a log while `script` runs, one step at each wait; return the lines."""
    steps = iter(script)
    done = False

    def wait(seconds: float) -> None:
        nonlocal done
        step = next(steps, None)
        if step is None:
            done = True
        else:
            step()

    original, lines.time.sleep = lines.time.sleep, wait  # type: ignore[attr-defined]
    try:
        found = read_file(path, start, follow=True, stopped=lambda: done)
        return [line.text for line in found if line is not None]
    finally:
        lines.time.sleep = original  # type: ignore[attr-defined]


def test_a_followed_log_may_grow_rotate_and_be_cut(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"one\ntw")

    def append(text: bytes) -> None:
        with log.open("ab") as file:
            file.write(text)

    def rotate() -> None:
        log.rename(tmp_path / "log.1")

    script = [
        lambda: append(b"o\nthree\nunfinish"),
        lambda: append(b"ed\nlast without end"),
        rotate,
        lambda: log.write_bytes(b"new\n"),
        lambda: log.write_bytes(b""),
        lambda: append(b"cut\n"),
    ]
    assert following(log, Start(), script) == [
        b"one",
        b"two",
        b"three",
        b"unfinished",
        b"last without end",
        b"new",
        b"cut",
    ]


def test_checkpoints_survive_and_ids_go_on(tmp_path: Path) -> None:
    ids = DerivedIds()
    assert [ids.id_of(b"a"), ids.id_of(b"b"), ids.id_of(b"a")][0::2] == [
        DerivedIds().id_of(b"a"),
        DerivedIds().id_of(b"a")[:-1] + "2",
    ]
    Checkpoint(tmp_path / "mark").save(Line(3, b"a", 99, 7), ids.state())
    loaded = Checkpoint.load(tmp_path / "mark")
    assert loaded.start == Start(7, 99, 3)
    assert DerivedIds(loaded.seen).id_of(b"a").endswith("-3")


def test_a_line_that_repeats_an_id_in_a_batch_is_wrong() -> None:
    complaints: list[int] = []
    intake = Intake(
        PROXY,
        parse_ndjson,
        lambda number, fault, text: complaints.append(number),
        DerivedIds(),
    )
    for number in (1, 2):
        intake.add(Line(number, orjson.dumps(proxy(id="same")), 0, 0))
    intake.store()
    assert (complaints, intake.counts.accepted) == ([2], 1)


def test_prune_says_what_it_would_drop_and_drops_it() -> None:
    assert run("prune_events", dry_run=True)[0] == run("prune_events", dry_run=True)[0]
    out, _ = run("prune_events", dry_run=True)
    assert out.splitlines()[0].startswith("traffic: would drop 0 events before ")


def record(code: str, hours_ago: float, **facts: Any) -> None:
    """Write an audit event of that age."""
    AuditEvent(
        activity_code=code,
        timestamp=clock.now() - timedelta(hours=hours_ago),
        **{"meta": {"name": "thing"}, **facts},
    ).save()


@pytest.fixture
def history() -> None:
    AuditEvent.objects.prune()
    record("dns.zone.create", 3, initiator_email="ann@mesh.dev")
    record("dns.zone.delete", 0.5, target_id="zone-1")
    record("group.add", 0.2, initiator_id="system")


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(
    ("options", "codes"),
    [
        ({}, ["dns.zone.create", "dns.zone.delete", "group.add"]),
        ({"since": "1h"}, ["dns.zone.delete", "group.add"]),
        (
            {"since": "2000-01-01", "code": ["dns.*"]},
            ["dns.zone.create", "dns.zone.delete"],
        ),
        ({"initiator": "ANN@mesh.dev"}, ["dns.zone.create"]),
        ({"initiator": "system"}, ["group.add"]),
        ({"target": "zone-1"}, ["dns.zone.delete"]),
        ({"search": "ZONE-1"}, ["dns.zone.delete"]),
    ],
)
def test_audit_prints_what_matches_oldest_first(
    options: dict[str, Any], codes: list[str]
) -> None:
    out, _ = run("audit", **options)
    assert [line.split()[1] for line in out.splitlines()] == codes
    out, _ = run("audit", json=True, **options)
    assert [orjson.loads(line)["activity_code"] for line in out.splitlines()] == codes


@pytest.mark.usefixtures("history")
def test_a_line_of_audit_is_for_people() -> None:
    line = run("audit", target="zone-1")[0]
    assert "zone-1" in line
    assert str(Activity("dns.zone.delete").label) in line
    assert line.endswith("| name=thing\n")


def test_audit_refuses_what_it_does_not_understand() -> None:
    with pytest.raises(CommandError, match="no activity code"):
        run("audit", code=["dns.nothing"])
    with pytest.raises(CommandError, match="'long ago' is neither a span such as"):
        run("audit", since="long ago")


@pytest.mark.usefixtures("history")
def test_audit_follows_what_is_committed(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([lambda: record("route.add", 0), lambda: record("group.add", 99)])

    def wait(seconds: float) -> None:
        step = next(rounds, None)
        if step is None:
            raise KeyboardInterrupt
        step()

    monkeypatch.setattr("events.management.commands.audit.time.sleep", wait)
    out, _ = run("audit", since="0s", follow=True)
    assert [line.split()[1] for line in out.splitlines()] == ["route.add", "group.add"]


@pytest.mark.usefixtures("history")
def test_audit_reads_in_pieces_and_keeps_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(9):  # equal times, and ids that do not follow the times
        record("route.add", 9 - number // 3 * 4, target_id=str(number))
    monkeypatch.setattr(reading, "_CHUNK", 2)
    with CaptureQueriesContext(connection) as queries:
        out, _ = run("audit", json=True)
    found = [orjson.loads(line) for line in out.splitlines()]
    places = [(event["timestamp"], int(event["id"])) for event in found]
    assert len(places) == 12
    assert places == sorted(places)
    reads = [q["sql"] for q in queries if '"meta"' in q["sql"]]
    assert len(reads) == 7
    assert all(sql.endswith("LIMIT 2") for sql in reads)


@pytest.mark.usefixtures("history")
def test_a_name_cannot_forge_a_line_nor_command_the_terminal() -> None:
    name = "x\n2099-01-01 FORGED \x1b[31mred\x9b2J\u202e"
    record("group.add", 0.1, meta={"name": name}, initiator_name=name)
    out, _ = run("audit", since="8m")
    line = out.removesuffix("\n")
    assert line.isprintable()
    assert line.count(r"x\n2099-01-01 FORGED \x1b[31mred\x9b2J\u202e") == 2


def test_audit_names_its_default_and_units(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load_command_class("events", "audit").run_from_argv(
            ["manage.py", "audit", "--help"]
        )
    text = " ".join(capsys.readouterr().out.split())
    assert "s, m, h, d or w" in text
    assert "24h when absent" in text


def test_audit_tells_of_a_database_without_tables() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE events_auditevent RENAME TO elsewhere")
    with pytest.raises(CommandError, match=r"run manage\.py migrate"):
        run("audit")
