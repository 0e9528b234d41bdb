"""Backups carry one state whole to either kind of database; or nothing is kept."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from dns.models import Zone
from events.models import AuditEvent, RollUpMark
from events.proof import check as proof
from events.proof import heads, published
from events.streams import partitions, rollups
from events.streams.catalogue import TRAFFIC
from groups.models import Group
from groups.services import group_create
from meshmgmt.accounts.models import User
from meshmgmt.api.models import KeptAnswer, UsedPermits
from meshmgmt.backup import schema
from meshmgmt.backup.archive import BackupError, creating
from meshmgmt.backup.copying import back_up, check
from meshmgmt.backup.schema import EVENT_TABLES, LEFT_OUT
from meshmgmt.control.models import MapChange
from meshmgmt.core import clock, runtime
from meshmgmt.serving.leadership import Leadership
from tests.backup.files import OLD, brief, changed, lines, manifest, rows, run, sealed
from tests.databases import KIND, Elsewhere
from tests.proof.trails import bare
from tests.races import race
from tests.resource_contract import Body

FAR = 2**52
"""A serial that the clock does not reach."""


@pytest.mark.parametrize(
    ("source", "target"),
    [("sqlite", "postgresql"), ("postgresql", "sqlite")]
    if KIND == "postgresql"
    else [("sqlite", "sqlite")],
)
def test_a_backup_restored_and_backed_up_again_holds_the_same(
    beside: Elsewhere, tmp_path: Path, current: Path, source: str, target: str
):
    first, second = tmp_path / "first", tmp_path / "second"
    with beside(source, migrated=True):
        run("restore", current)
        heads.keep_up()
        MapChange.objects.create(serial=FAR, touched="")
        KeptAnswer.objects.create(user_id="u", key="k", request="r", sealed=b"\x00\xff")
        run("backup", first)
    with beside(target, migrated=True):
        run("restore", first)
        assert MapChange.objects.filter(serial__gt=FAR).exists()
        proven = proof.check(bare)
        assert proven.tree_size == AuditEvent.objects.count() > 0
        assert (proven.heads > 0, proven.faults) == (True, [])
        assert bytes(KeptAnswer.objects.get(key="k").sealed) == b"\x00\xff"
        run("backup", second)
    before, after = manifest(first)["tables"], manifest(second)["tables"]
    for changing in ("control_mapchange", "accesstests_looked"):
        assert before.pop(changing) != after.pop(changing)
    # A restore judges the access tests once more.
    del before["accesstests_accesstest"], after["accesstests_accesstest"]
    assert before == after
    assert judged(first) == judged(second)


def judged(path: Path) -> list[dict[str, Any]]:
    """Return the access tests of a file without when they were looked at."""
    return [{**row, "checked_at": None} for row in rows(path, "accesstests_accesstest")]


def test_a_backup_is_one_state_while_writes_go_on(beside: Elsewhere, tmp_path: Path):
    made: list[Group] = []

    def write() -> None:
        made.append(group_create(name=f"beside {len(made)}"))

    def write_before_each_table(
        name: str, items: Iterable[Any], count: int
    ) -> Iterable[Any]:
        race([write])
        return items

    with beside(KIND, migrated=True):
        events = AuditEvent.objects.count()
        back_up(tmp_path / "file", write_before_each_table)
        assert Group.objects.count() == 1 + len(made) > 40
    assert len(rows(tmp_path / "file", "groups_group")) == 1
    assert len(rows(tmp_path / "file", "events_auditevent")) == events


@pytest.mark.postgresql
def test_retention_drops_no_day_that_a_backup_has_begun_to_read(
    beside: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(partitions, "ATTEMPTS", 1)
    outcomes: list[Exception] = []

    def drop() -> None:
        with pytest.raises(OperationalError) as refused:
            partitions.drop(TRAFFIC, [min(partitions.attached(TRAFFIC))])
        outcomes.append(refused.value)

    def drop_at_first(name: str, items: Iterable[Any], count: int) -> Iterable[Any]:
        if not outcomes:
            race([drop])
        return items

    file = tmp_path / "file"
    with beside("postgresql"):
        run("restore", brief())
        back_up(file, drop_at_first)
    assert len(outcomes) == 1
    kept = rows(file, "events_trafficevent")
    assert len(kept) == len(rows(brief(), "events_trafficevent")) > 0


@pytest.mark.sqlite
def test_a_database_that_is_away_is_told(
    beside: Elsewhere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with beside("sqlite"):
        monkeypatch.setitem(connection.settings_dict, "NAME", str(tmp_path))
        for command in ("backup", "restore"):
            with pytest.raises(CommandError, match="the database cannot be used"):
                run(command, OLD if command == "restore" else tmp_path / "file")


def test_every_table_is_in_a_backup_or_left_out_by_name(
    beside: Elsewhere, tmp_path: Path
):
    with beside(KIND, migrated=True):
        run("backup", tmp_path / "file")
        tables = set(connection.introspection.table_names())
        if KIND == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT relname FROM pg_class WHERE relispartition")
                tables -= {name for (name,) in cursor.fetchall()}
    searched = {"events_auditevent", "events_trafficevent", "events_proxyentry"}
    indexes = {name for name in tables if name.partition("_fts")[0] in searched}
    kept = manifest(tmp_path / "file")["tables"].keys()
    assert tables - (indexes - searched) == kept | LEFT_OUT


@pytest.mark.slow
def test_streams_that_were_never_summed_up_come_back(beside: Elsewhere, tmp_path: Path):
    """Sums wait for many events; until then their mark is at the beginning of time."""
    file = tmp_path / "file"
    with beside(KIND, migrated=True):
        rollups.roll_up()
        run("backup", file)
    for target in {KIND, "sqlite"}:
        with beside(target):
            run("restore", file)
            marks = RollUpMark.objects.values_list("arrival", flat=True)
            assert set(marks) == {rollups.BEGINNING}


@pytest.mark.postgresql
@pytest.mark.slow
def test_what_comes_in_after_a_restore_is_numbered_above_what_was_gone_past(
    beside: Elsewhere, tmp_path: Path
):
    file, far = tmp_path / "file", 2 * 10**15
    with beside(KIND, migrated=True):
        RollUpMark.objects.update_or_create(stream="proxy", defaults={"arrival": far})
        run("backup", file)
    with beside(KIND, migrated=True), connection.cursor() as cursor:
        # Tables that were made long before the backup.
        cursor.execute("SELECT setval('traffic_arrival_n', 7)")
        begin = time.time_ns() // 1000
        run("restore", file)
        cursor.execute(
            "SELECT nextval('traffic_arrival_n'), nextval('proxy_arrival_n')"
        )
        traffic, proxy = cursor.fetchone()
    assert traffic > begin
    assert proxy > far


@pytest.mark.parametrize("links", [True, False])
def test_of_two_backups_of_one_name_the_later_is_refused(
    links: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if not links:  # as on disks that know none

        def refuse(path: Path, target: Path) -> None:
            raise PermissionError(errno.EPERM, "not permitted")

        monkeypatch.setattr(Path, "hardlink_to", refuse)
    path = tmp_path / "file"
    with pytest.raises(BackupError, match="exists already"), creating(path):
        with creating(path) as faster:
            faster.add("t", ("a",), [b"[1]\n"])
        content = path.read_bytes()
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.sqlite
def test_a_backup_is_for_its_owner_alone_and_replaces_nothing(
    beside: Elsewhere, tmp_path: Path
):
    file, missing = tmp_path / "file", tmp_path / "missing" / "file"
    with beside("sqlite"), pytest.raises(CommandError, match="migrations are missing"):
        run("backup", file)
    with beside("sqlite", migrated=True):
        run("backup", file)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        with pytest.raises(CommandError, match="exists already"):
            run("backup", file)
        with pytest.raises(CommandError, match="cannot be written: No such file"):
            run("backup", missing)

        def fail(name: str, items: Iterable[Any], count: int) -> Iterable[Any]:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            back_up(tmp_path / "other", fail)
    files = {path.name for path in tmp_path.iterdir() if "sqlite3" not in path.name}
    assert files == {"file"}


@pytest.mark.sqlite
def test_events_may_be_left_out(beside: Elsewhere, tmp_path: Path, current: Path):
    file, tables = tmp_path / "file", manifest(current)["tables"]
    with beside("sqlite", migrated=True):
        run("backup", file, "--without-events")
    assert manifest(file)["tables"].keys() == tables.keys() - EVENT_TABLES
    with beside("sqlite", migrated=True):
        assert run("restore", file)["restored"]


@pytest.mark.sqlite
def test_a_restore_fills_empty_databases_only(beside: Elsewhere, current: Path):
    with beside("sqlite", migrated=True):
        group_create(name="already here")
        with pytest.raises(CommandError, match="holds data already"):
            run("restore", current)
        assert Group.objects.filter(name="already here").exists()
    with beside("sqlite", migrated=True):
        UsedPermits.objects.create(key="a stranger's", until=clock.now())
        run("restore", current)


@pytest.mark.sqlite
def test_a_restore_under_a_running_server_is_refused_unless_forced(
    beside: Elsewhere, tmp_path: Path, current: Path
):
    with beside(KIND, migrated=True):
        server = runtime.claim(tmp_path / "run")
        with pytest.raises(CommandError, match="a server or its housekeeping runs"):
            run("restore", current)
        os.close(server)
        housekeeping = Leadership(tmp_path / "run")
        assert housekeeping.held()
        with pytest.raises(CommandError, match="a server or its housekeeping runs"):
            run("restore", current)
        assert not User.objects.exists()
        run("restore", current, "--force")
        housekeeping.release()


@pytest.mark.slow
def test_a_restored_trail_older_than_its_published_heads_is_told_until_accepted(
    beside: Elsewhere, tmp_path: Path
):
    with beside(KIND, migrated=True):
        group_create(name="in the backup")
        heads.keep_up()
        published.publish()
        run("backup", tmp_path / "file")
        group_create(name="after it")
        heads.keep_up()
        published.publish()
    with beside(KIND, migrated=True):
        assert run("restore", tmp_path / "file")["older_than_published_heads"]
        group_create(name="in its place")
        heads.keep_up()
        with pytest.raises(published.Contradiction, match="--accept-restore"):
            published.publish()
        [fault] = proof.check(bare, [published.own_file()]).faults
        assert fault["kind"] == "published"
        published.accept_restore()
        assert proof.check(bare, [published.own_file()]).faults == []
    with beside(KIND, migrated=True):
        assert run("restore", tmp_path / "file")["older_than_published_heads"]


@pytest.mark.slow
def test_a_trail_restored_where_nothing_later_was_published_is_told_nothing(
    beside: Elsewhere, tmp_path: Path
):
    with beside(KIND, migrated=True):
        heads.keep_up()
        published.publish()
        run("backup", tmp_path / "file")
    with beside(KIND, migrated=True):
        assert not run("restore", tmp_path / "file")["older_than_published_heads"]
        heads.keep_up()
        published.publish()
        assert proof.check(bare, [published.own_file()]).faults == []


@pytest.mark.postgresql
@pytest.mark.slow
def test_housekeeping_of_another_host_is_noticed(
    beside: Elsewhere, tmp_path: Path, current: Path
):
    with beside(KIND, migrated=True):
        housekeeping = Leadership(tmp_path / "another host")
        assert housekeeping.held()
        with pytest.raises(CommandError, match="on every host"):
            run("restore", current)
        housekeeping.release()
        run("restore", current)


def of_before_an_app(target: Path) -> Path:
    """Write a file as a version made it that had not yet the app `movingin`."""
    found = manifest(brief())
    del found["schema"]["movingin"], found["tables"]["movingin_copied"]
    return sealed(brief(), target, schema=found["schema"], tables=found["tables"])


def test_a_database_with_other_migrations_is_refused(beside: Elsewhere, tmp_path: Path):
    old = of_before_an_app(tmp_path / "old")
    refused = pytest.raises(CommandError, match="has other migrations than the file")
    with beside("sqlite", migrated=True), refused:
        run("restore", old)


def test_a_file_of_an_older_schema_is_brought_to_the_newest(
    beside: Elsewhere, tmp_path: Path
):
    old = of_before_an_app(tmp_path / "old")
    with beside(KIND):
        run("restore", old)
        assert schema.is_at(schema.newest())
        assert Zone.objects.count() == len(rows(OLD, "dns_zone"))


def test_a_restore_that_was_cut_off_while_it_made_the_tables_goes_on(beside: Elsewhere):
    with beside(KIND):
        schema.migrate_to({"groups": "0001_initial"})
        run("restore", OLD)
        assert schema.is_at(schema.newest())
        assert Zone.objects.count() == len(rows(OLD, "dns_zone"))


def test_of_a_restore_that_was_cut_off_after_its_rows_it_is_told_what_to_do(
    beside: Elsewhere,
):
    with beside(KIND):
        run("restore", OLD)
        call_command("migrate", "accounts", "0001", verbosity=0)
        with pytest.raises(CommandError, match="migrate` does the rest"):
            run("restore", OLD)
        call_command("migrate", verbosity=0)
        assert Zone.objects.count() == len(rows(OLD, "dns_zone"))


def whole_with(table: str, more: str) -> Body:
    """Return the tables of `OLD` when one has a column more."""
    tables: Body = manifest(OLD)["tables"]
    tables[table]["columns"].append(more)
    return tables


ALTERED = "no whole backup: it is cut or altered"
HEADS = manifest(OLD)["schema"]
FAULTY: list[tuple[Callable[[Path], object], str]] = [
    (
        lambda path: path.write_bytes(OLD.read_bytes()[: OLD.stat().st_size // 2]),
        ALTERED,
    ),
    (lambda path: changed(OLD, path, dns_zone_ndjson=b"[]\n"), ALTERED),
    (lambda path: changed(OLD, path, manifest_json=b"{}"), ALTERED),
    (lambda path: path.write_text("a text"), ALTERED),
    (lambda path: sealed(OLD, path, format=2), "has format 2, this version reads 1"),
    (
        lambda path: sealed(OLD, path, schema={**HEADS, "dns": "9999_later"}),
        "migration dns 9999_later, which this one does not know",
    ),
    (
        lambda path: sealed(OLD, path, tables=whole_with("dns_zone", "more")),
        "other tables or columns: dns_zone",
    ),
    (lambda path: None, "cannot be read: No such file"),
]


@pytest.mark.sqlite
def test_a_faulty_file_is_refused_before_anything_is_written(
    beside: Elsewhere, tmp_path: Path
):
    with beside("sqlite"):
        for number, (make, sentence) in enumerate(FAULTY):
            make(file := tmp_path / f"faulty {number}")
            with pytest.raises(CommandError, match=sentence):
                run("restore", file)
            assert schema.is_at({}), sentence


@pytest.mark.slow
def test_no_byte_of_a_file_changes_unnoticed(tmp_path: Path):
    """What the zip says twice may differ once; the rows may not."""
    data, random, refused = brief().read_bytes(), Random(7), 0
    for _ in range(15):
        place = random.randrange(len(data))
        other = bytes([data[place] ^ 1 << random.randrange(8)])
        (tmp_path / "file").write_bytes(data[:place] + other + data[place + 1 :])
        try:
            found = check(tmp_path / "file", bare)
        except BackupError:
            refused += 1
        else:
            assert found.tables.keys() == manifest(OLD)["tables"].keys()
    assert refused > 10


def test_a_byte_that_calls_a_member_encrypted_is_an_alteration(tmp_path: Path):
    data = bytearray(OLD.read_bytes())
    data[data.index(b"PK\1\2") + 8] ^= 1  # flags of the first member (APPNOTE 4.3.12)
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(BackupError, match="cut or altered"):
        check(tmp_path / "file", bare)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        pytest.param(
            slice(1, None),
            "the database refused the rows; nothing was kept",
            id="a zone lost",
        ),
        pytest.param(
            slice(None, None, -1),
            "dns_zone did not arrive as it is in the file",
            id="another order",
            marks=pytest.mark.sqlite,
        ),
    ],
)
def test_rows_that_do_not_fit_leave_nothing_behind(
    beside: Elsewhere, tmp_path: Path, current: Path, part: slice, sentence: str
):
    zones = {"dns_zone": lines(current, "dns_zone")[part]}
    file = sealed(current, tmp_path / "faulty", lines=zones)
    with beside(KIND, migrated=True):
        with pytest.raises(CommandError, match=sentence):
            run("restore", file)
        assert not User.objects.exists()
        assert Group.objects.count() == 1
        run("restore", current)


@pytest.mark.sqlite
def test_another_secret_key_is_told(beside: Elsewhere, tmp_path: Path, settings: Any):
    with beside("sqlite", migrated=True):
        run("backup", tmp_path / "file")
    assert run("restore", "--check", tmp_path / "file")["same_secret_key"]
    settings.SECRET_KEY = "another"
    assert not run("restore", "--check", tmp_path / "file")["same_secret_key"]
