"""Heads published beside the database show what was done to it since."""

import dataclasses
import json
import logging
import stat
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Model
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from events.models import AuditEvent, AuditHead, AuditKey, AuditTile
from events.proof import heads, published, tree
from events.proof.check import check
from groups.services import group_create
from meshmgmt.core import clock
from meshmgmt.core.jobs import registered_jobs
from tests.databases import undone
from tests.observability.disks import room_for
from tests.proof.trails import bare, command, faults, forge, tamper, write

pytestmark = pytest.mark.django_db

COLUMNS = (
    *("activity_code", "initiator_id", "initiator_name", "initiator_email"),
    *("target_id", "target_type", "request_id", "source_address", "token_id"),
    *("timestamp", "meta"),
)
WIPES = {
    "nothing": (),
    "the tree and its heads": (AuditTile, AuditHead),
    "all of the proof": (AuditTile, AuditHead, AuditKey),
}


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the service a data folder of its own; return where it publishes heads."""
    svc = dataclasses.replace(settings.SVC, data_dir=tmp_path / "var")
    monkeypatch.setattr(settings, "SVC", svc)
    return published.own_file()


@pytest.fixture
def ids(file: Path) -> list[int]:
    """Return the ids of events of a sealed and published trail, with gaps among them."""
    written = write(40)
    gaps = written[3::7]
    AuditEvent.objects.filter(id__in=gaps).prune()
    seal()
    return [number for number in written if number not in gaps]


def seal() -> None:
    """Do what housekeeping does each minute."""
    heads.keep_up()
    published.publish()


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def kinds(*files: Path) -> set[str]:
    return {kind for kind, _ in faults(*files)}


def wipe(*models: type[Model]) -> None:
    for model in models:
        model._default_manager.all().delete()


def test_housekeeping_publishes_each_new_head_once(file: Path):
    write(3)
    jobs = {job.name: job for job in registered_jobs()}
    for _ in range(2):
        jobs["events.proof"].run()
        jobs["events.heads"].run()
    group_create(name="one more")
    seal()
    newest = heads.newest()
    assert newest is not None
    assert lines(file)[-1] == heads.row(newest)
    sizes = [head["tree_size"] for head in lines(file)]
    assert sizes == sorted(set(sizes))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert faults(file) == []


def test_nothing_is_published_of_an_empty_trail(file: Path):
    assert published.publish() == 0
    assert not file.exists()


@dataclasses.dataclass(frozen=True)
class Forgery:
    """What somebody with the database's password does to one event, and to the proof."""

    deed: str
    place: int
    column: str
    wiped: str

    def commit(self, ids: list[int]) -> None:
        number = ids[self.place]
        if self.deed == "change":
            value = {"timestamp": "2020-01-01 00:00:00+00", "meta": '{"x": "y"}'}
            tamper(
                f"UPDATE events_auditevent SET {self.column} = %s WHERE id = %s",  # noqa: S608 - of ours
                value.get(self.column, "forged"),
                number,
            )
        elif self.deed == "move":
            tamper(
                "UPDATE events_auditevent SET id = %s WHERE id = %s",
                -self.place,
                number,
            )
        elif self.deed == "remove":
            AuditEvent.objects.filter(id=number).prune()
        else:
            gaps = sorted({*range(ids[0], ids[-1]), 0, -1} - {*ids})
            forge(gaps[self.place % len(gaps)])
        wipe(*WIPES[self.wiped])


forgeries = st.builds(
    Forgery,
    deed=st.sampled_from(["change", "remove", "insert", "move"]),
    place=st.integers(0, 33),
    column=st.sampled_from(COLUMNS),
    wiped=st.sampled_from(sorted(WIPES)),
)


@examples(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(forgery=forgeries, again=st.booleans())
def test_any_change_of_what_a_published_head_covers_is_seen(
    ids: list[int], file: Path, forgery: Forgery, again: bool
):
    with undone():
        forgery.commit(ids)
        if again:
            heads.keep_up()
        assert faults(file)


def test_an_untouched_trail_is_never_said_to_be_touched(ids: list[int], file: Path):
    for _ in range(3):
        group_create(name=f"g{clock.now()}")
        assert faults(file) == []
        seal()
        assert faults(file) == []


def test_the_head_that_contradicts_is_named_and_the_last_that_fits(
    ids: list[int], file: Path
):
    fits = lines(file)[-1]
    later = write(5)
    seal()
    contradicts = lines(file)[-1]
    write(5)
    seal()
    tamper("UPDATE events_auditevent SET target_id = 'x' WHERE id = %s", later[2])
    wipe(AuditTile, AuditHead)
    heads.keep_up()
    [first, more] = [about for kind, about in faults(file) if kind == "published"]
    named = f"the head of {contradicts['timestamp']} ({contradicts['tree_size']} events"
    assert named in first
    assert "is of another tree" in first
    assert f"what the trail has is the head of {fits['timestamp']}" in first
    assert more.endswith("1 later heads do not fit either")


# Without a published head: what a check finds by itself, and what it cannot find.


def test_a_wiped_tree_beside_keys_is_a_fault_before_and_after_it_grows_anew(file: Path):
    write(20)
    with clock.set_to(clock.now() - timedelta(hours=2)):
        heads.keep_up()
    assert faults() == []
    wipe(AuditTile, AuditHead)
    assert "begin" in kinds()
    heads.keep_up()
    assert kinds() == {"begin"}
    with pytest.raises(CommandError, match="faults: 1"):
        command("verify")


def test_a_wiped_tree_whose_heads_stay_is_a_fault(ids: list[int]):
    wipe(AuditTile)
    assert "head" in kinds()
    heads.keep_up()
    assert kinds() <= {"head"}


def test_a_wiped_key_is_a_fault(ids: list[int]):
    wipe(AuditTile, AuditHead, AuditKey)
    assert "key" in kinds()
    heads.keep_up()
    assert kinds() == {"key"}


def test_a_key_that_the_trail_does_not_tell_of_is_a_fault(ids: list[int]):
    AuditKey.objects.create(id="f" * 16, public_key=b"x" * 32, sealed=b"")
    assert "key" in kinds()


def test_a_key_that_is_made_younger_to_hide_a_wiped_tree_is_a_fault(ids: list[int]):
    wipe(AuditTile, AuditHead)
    AuditKey.objects.update(valid_from=clock.now() + timedelta(minutes=6))
    heads.keep_up()
    assert "key" in kinds()


def test_rows_that_go_back_in_small_steps_are_not_seen(ids: list[int]):
    for step in range(1, 5):
        forge(None, clock.now() - step * timedelta(minutes=4))
    seal()
    assert kinds() == set()


def test_events_that_wait_for_the_tree_for_long_are_a_fault():
    with clock.set_to(clock.now() - timedelta(hours=2)):
        group = group_create(name="early")
    AuditEvent.objects.exclude(target_id=group.pk).prune()
    assert kinds() == {"due"}
    heads.keep_up()
    assert faults() == []


@pytest.mark.parametrize("number", [0, -7])
def test_an_event_below_the_first_leaf_is_a_fault(ids: list[int], number: int):
    forge(number)
    assert faults() == [("added", f"event {number}")]
    heads.keep_up()
    assert faults() == [("added", f"event {number}")]


def test_a_row_put_behind_newer_ones_with_an_old_time_is_a_fault(
    ids: list[int], file: Path
):
    last = AuditEvent.objects.latest("pk").pk
    forged = forge(None, clock.now() - timedelta(days=30))
    seal()
    about = f"event {forged} is older than event {last} before it"
    assert faults(file) == [("time", about)]
    group_create(name="the service writes on")
    seal()
    assert kinds(file) == {"time"}


def test_a_clock_that_was_set_back_is_no_fault(ids: list[int], file: Path):
    with clock.set_to(clock.now() + timedelta(days=1)):
        group_create(name="ahead")
        seal()
    group_create(name="right again")
    seal()
    report = check(bare, [file])
    assert (report.faults, report.clock_set_back) == ([], 1)


def test_a_forged_word_about_the_clock_is_left_for_all_to_see(
    ids: list[int], file: Path
):
    long_ago = clock.now() - timedelta(days=30)
    forge(None, long_ago, activity_code="audit.clock.back")
    forge(None, long_ago)
    seal()
    report = check(bare, [file])
    assert (report.faults, report.clock_set_back) == ([], 1)
    assert "the clock was set back 1 time (" in command("verify")


def test_a_forged_retention_is_left_for_all_to_see(ids: list[int], file: Path):
    AuditEvent.objects.filter(id=ids[5]).prune()
    forge(None, clock.now(), activity_code="audit.prune", meta={"ids": str(ids[5])})
    seal()
    report = check(bare, [file])
    assert (report.faults, report.removed_by_retention) == ([], 1)
    assert AuditEvent.objects.filter(activity_code="audit.prune").count() == 1


def test_what_is_not_in_the_tree_yet_is_proven_by_nothing(ids: list[int], file: Path):
    changed = group_create(name="changed before it was sealed")
    removed = group_create(name="removed before it was sealed")
    tamper("UPDATE events_auditevent SET meta = '{}' WHERE target_id = %s", changed.pk)
    AuditEvent.objects.filter(target_id=removed.pk).prune()
    forge(None, clock.now())
    seal()
    assert faults(file) == []


def test_a_tail_that_was_sealed_anew_is_seen_by_a_published_head_alone(
    ids: list[int], file: Path
):
    fits = tree.extent().size
    tiles = list(AuditTile.objects.all())
    written = write(5)
    seal()
    tamper("UPDATE events_auditevent SET target_id = 'x' WHERE id = %s", written[2])
    AuditHead.objects.filter(tree_size__gt=fits).delete()
    AuditTile.objects.bulk_update(tiles, ["hashes", "event_ids"])
    heads.keep_up()
    assert faults() == []
    assert kinds(file) == {"published"}


def test_a_proof_built_anew_from_nothing_is_seen_by_a_published_head_alone(
    ids: list[int], file: Path
):
    tamper("UPDATE events_auditevent SET target_id = 'x' WHERE id = %s", ids[5])
    tamper("DELETE FROM events_auditevent WHERE activity_code = 'audit.key.create'")
    wipe(AuditTile, AuditHead, AuditKey)
    heads.keep_up()
    assert faults() == []
    assert kinds(file) == {"published"}


# The file


def test_a_line_that_was_cut_off_is_written_anew_and_said(
    ids: list[int], file: Path, caplog: pytest.LogCaptureFixture
):
    write(5)
    seal()
    whole = file.read_bytes()
    for cut in (1, 100, len(whole.splitlines()[-1])):
        file.write_bytes(whole[:-cut])
        assert faults(file) == []
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert published.publish() == 1
        assert "its last line was cut off" in caplog.text
        assert file.read_bytes() == whole


def test_a_full_disk_is_an_error_and_the_next_run_publishes(ids: list[int], file: Path):
    jobs = {job.name: job for job in registered_jobs()}
    before = file.read_bytes()
    group_create(name="one more")
    heads.keep_up()
    for room in (0, 10):
        refused = pytest.raises(OSError, match=r"too large|No space")
        with room_for(len(before) + room), refused:
            jobs["events.heads"].run()
        assert file.read_bytes() == before
    jobs["events.heads"].run()
    assert len(lines(file)) == len(before.splitlines()) + 1
    assert faults(file) == []


def test_lines_that_are_no_heads_are_faults(ids: list[int], file: Path):
    whole = file.read_bytes()
    [head] = lines(file)
    for line in (b"{}", b"[]", b"x", b'{"tree_size": "1"}'):
        file.write_bytes(line + b"\n" + whole)
        assert faults(file) == [("published", f"{file}: line 1 is no tree head")]
    file.write_text(json.dumps(head | {"tree_size": 1}) + "\n")
    assert kinds(file) == {"published"}
    file.write_bytes(b"x\n")
    with pytest.raises(published.Contradiction, match="no tree head"):
        published.publish()


# The command


def test_the_command_publishes_at_once_and_elsewhere(file: Path, tmp_path: Path):
    write(5)
    assert f"no tree heads were published in {file} yet" in command("heads")
    assert f"no tree heads were published in {file} yet" in command("verify")
    blank = tmp_path / "blank"
    blank.touch()
    said = command("verify", "--heads", str(blank))
    assert f"no tree heads were published in {blank} yet" in said
    assert "1 new in" in command("heads", "--publish")
    [head] = lines(file)
    newest = f"({head['tree_size']} events, root {head['root_hash'][:16]})"
    assert newest in command("heads")
    assert json.loads(command("heads", "--json")) == {"file": str(file), "newest": head}
    group_create(name="one more")
    other = tmp_path / "mounted" / "heads.ndjson"
    assert f"2 new in {other}" in command("heads", "--publish", other)
    assert len(lines(file)) == 1
    assert "3 published heads were compared" in command("verify", "--heads", other)
    with pytest.raises(CommandError, match="cannot be published"):
        command("heads", "--publish", tmp_path)


def test_a_restored_backup_is_told_and_can_be_accepted_once(ids: list[int], file: Path):
    mark = transaction.savepoint()
    write(5)
    seal()
    lost = lines(file)[-1]
    transaction.savepoint_rollback(mark)  # as a backup of then is
    assert faults() == []
    output = StringIO()
    with pytest.raises(CommandError, match="faults: 1"):
        call_command("audit", "verify", stdout=output)
    assert "is ahead of the trail" in output.getvalue()
    assert "only if you restored a backup of before that head" in output.getvalue()
    with pytest.raises(published.Contradiction, match="--accept-restore"):
        published.publish()
    told = command("heads", "--accept-restore")
    [aside] = [path for path in file.parent.glob("audit-heads-*") if path != file]
    assert str(aside) in told
    assert lines(aside)[-1] == lost
    event = AuditEvent.objects.get(activity_code="audit.restore.accept")
    assert event.meta["root_hash"] == lost["root_hash"]
    assert tree.index_of(event.pk) is not None
    assert faults(file) == []
    with pytest.raises(CommandError, match="goes on from all heads"):
        command("heads", "--accept-restore")


def test_a_forged_restore_is_left_for_all_to_see(ids: list[int], file: Path):
    tamper("UPDATE events_auditevent SET target_id = 'x' WHERE id = %s", ids[5])
    wipe(AuditTile, AuditHead)
    heads.keep_up()
    command("heads", "--accept-restore")
    assert AuditEvent.objects.filter(activity_code="audit.restore.accept").exists()
    [aside] = [path for path in file.parent.glob("audit-heads-*") if path != file]
    assert kinds(file, aside) >= {"published"}


def test_what_was_stored_by_nobody_of_us_is_said_plainly(ids: list[int]):
    tamper("UPDATE events_audittile SET event_ids = %s", b"\x00\x01\x02")
    with pytest.raises(CommandError, match="what this service does not write"):
        command("verify")


def test_a_file_that_cannot_be_read_is_said(ids: list[int], tmp_path: Path):
    with pytest.raises(CommandError, match="cannot be read"):
        command("verify", "--heads", tmp_path / "missing")
