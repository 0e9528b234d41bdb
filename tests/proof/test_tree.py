"""The stored tree follows the trail, is signed, and a check finds what was touched."""

import json
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection

from events.audit import retention
from events.audit.rows import DETAIL_COLUMNS
from events.models import AuditEvent, AuditHead, AuditKey, AuditTile
from events.proof import heads, keys, tree
from events.proof.check import check
from events.proof.hashing import head_fault, proves_consistency, root_of
from groups.services import group_create
from meshmgmt.core import clock
from tests.events.days import keep
from tests.proof.trails import START, bare, command, faults, tamper, write
from tests.races import going_on, race

pytestmark = pytest.mark.django_db


def stored_leaves() -> list[Any]:
    events = AuditEvent.objects.order_by("id").values_list(*DETAIL_COLUMNS)
    return tree.leaves_of(events)


def signed() -> AuditHead:
    """Let housekeeping do its job; return the newest head."""
    heads.keep_up()
    head = heads.newest()
    assert head is not None
    return head


def test_the_tree_holds_every_event_in_the_order_of_the_trail():
    for count in (0, 1, 300, 724):
        write(count)
        head = signed()
        leaves = stored_leaves()
        assert list(tree.all_leaves(head.tree_size)) == leaves
        assert bytes(head.root_hash) == root_of(leaf for _, leaf in leaves)
    assert {tile.level for tile in AuditTile.objects.all()} == {0, 1}
    leaves = stored_leaves()
    for place in (0, 255, 256, 1000, len(leaves) - 1):
        assert tree.index_of(leaves[place][0]) == place
    assert tree.index_of(leaves[-1][0] + 1) is None
    assert tree.index_of(0) is None
    assert faults() == []


def test_a_head_is_signed_only_when_something_was_written():
    write(2)
    signed()
    signed()
    assert AuditHead.objects.count() == 1
    group_create(name="one more")
    signed()
    assert AuditHead.objects.count() == 2


def test_no_event_no_key():
    tamper("DELETE FROM events_auditevent")
    heads.keep_up()
    assert (heads.newest(), keys.current()) == (None, None)


def test_the_trail_names_its_first_key():
    write(1)
    head = signed()
    told = AuditEvent.objects.get(activity_code="audit.key.create")
    [key] = keys.public_rows()
    assert told.target_id == key["key_id"] == head.key_id
    assert told.meta["public_key"] == key["public_key"]
    assert tree.index_of(told.pk) == head.tree_size - 1
    assert head_fault(heads.row(head), [key]) == ""


def test_an_old_trail_is_taken_in_piece_by_piece(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(heads, "GROWING_SECONDS", 0)
    write(3 * tree.AT_ONCE + 50)
    sizes = [signed().tree_size for _ in range(4)]
    assert AuditHead.objects.order_by("id")[0].tree_size == tree.AT_ONCE
    assert sizes[:2] == [2 * tree.AT_ONCE, 3 * tree.AT_ONCE]
    assert sizes[2] == sizes[3] == AuditEvent.objects.count()


def test_a_rotated_key_is_vouched_for_by_the_one_before():
    write(5)
    before = signed()
    command("rotate-key")
    last = heads.newest()
    assert last is not None
    told = AuditEvent.objects.get(activity_code="audit.key.rotate")
    assert told.meta["replaced"] == before.key_id == last.key_id
    index = tree.index_of(told.pk)
    assert index is not None
    assert index < last.tree_size
    write(1)
    assert signed().key_id == told.target_id
    old, new = keys.public_rows()
    assert (old["valid_until"] is None, new["valid_until"]) == (False, None)
    assert faults() == []


def test_a_key_sealed_under_another_secret_key_signs_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    write(5)
    signed()
    write(5)
    monkeypatch.setattr(settings, "SECRET_KEY", "another")
    with pytest.raises(keys.KeyUnavailable, match="rotate-key"):
        heads.keep_up()
    export = heads.for_export()
    assert export is not None
    assert export.tree_size < tree.extent().size
    heads.rotate()
    write(1)
    assert signed().tree_size == AuditEvent.objects.count()
    assert faults() == []


def test_the_private_key_is_stored_sealed_only():
    write(1)
    signed()
    key = AuditKey.objects.get()
    assert keys.private_key(key).private_bytes_raw() not in bytes(key.sealed)


def test_a_check_names_the_event_that_was_touched():
    ids = write(300)
    signed()
    tamper("UPDATE events_auditevent SET target_id = 'x' WHERE id = %s", ids[77])
    assert faults() == [("changed", f"event {ids[77]}")]
    tamper("UPDATE events_auditevent SET meta = '{}' WHERE id = %s", ids[80])
    tamper("DELETE FROM events_auditevent WHERE id = %s", ids[270])
    assert faults() == [
        ("changed", f"event {ids[77]}"),
        ("changed", f"event {ids[80]}"),
        ("removed", f"event {ids[270]}"),
    ]


def test_a_check_names_an_event_that_was_slipped_in():
    ids = write(10)
    tamper("DELETE FROM events_auditevent WHERE id = %s", ids[4])
    signed()
    AuditEvent(id=ids[4], activity_code="group.add").save(force_insert=True)
    assert faults() == [("added", f"event {ids[4]}")]


def test_a_check_finds_a_touched_tree_and_forged_heads():
    ids = write(600)
    newest = signed()
    tile = AuditTile.objects.get(level=0, number=1)
    place = tree.index_of(ids[300])
    assert place is not None
    hashes = bytearray(bytes(tile.hashes))
    hashes[(place - 256) * 32] ^= 1
    AuditTile.objects.filter(pk=tile.pk).update(hashes=bytes(hashes))
    kinds = [kind for kind, _ in faults()]
    assert kinds == ["changed", "head", "tree"]
    AuditTile.objects.filter(pk=tile.pk).update(hashes=tile.hashes)
    AuditHead.objects.filter(pk=newest.pk).update(tree_size=10**6)
    assert [about.split(": ")[1] for _, about in faults()] == [
        "its signature is not that of the key",
        "it signs more than the tree has",
    ]


def test_the_command_says_what_it_found():
    ids = write(20)
    signed()
    assert "1 signed heads were checked against a tree of" in command("verify")
    output = StringIO()
    tamper("DELETE FROM events_auditevent WHERE id = %s", ids[3])
    with pytest.raises(CommandError, match="faults: 1"):
        call_command("audit", "verify", stdout=output)
    assert f"event {ids[3]} is missing, and not by retention" in output.getvalue()
    report = StringIO()
    with pytest.raises(CommandError):
        call_command("audit", "verify", "--json", stdout=report)
    found = json.loads(report.getvalue())
    assert found["faults"] == [{"kind": "removed", "about": f"event {ids[3]}"}]
    assert found["tree_size"] == found["events"] + 1


def test_what_retention_removes_stays_proven_and_nothing_else_may_go(
    monkeypatch: pytest.MonkeyPatch,
):
    removed = write(400, START)
    before = signed()
    stays = AuditEvent.objects.get(target_id=group_create(name="stays").pk)
    keep(monkeypatch, audit=30)
    retention.prune()
    after = signed()
    report = check(bare)
    assert (report.faults, report.removed_by_retention) == ([], 400)
    assert tree.index_of(removed[7]) is not None
    path = tree.tree_at(after.tree_size).consistency(before.tree_size)
    roots = bytes(before.root_hash), bytes(after.root_hash)
    assert proves_consistency(before.tree_size, after.tree_size, path, *roots)
    tamper("DELETE FROM events_auditevent WHERE id = %s", stays.pk)
    assert faults() == [("removed", f"event {stays.pk}")]


def test_what_went_from_behind_an_event_of_the_future_stays_told(
    monkeypatch: pytest.MonkeyPatch,
):
    with clock.set_to(clock.now() + timedelta(days=9999)):
        group_create(name="stays")
    write(3, START)
    signed()
    keep(monkeypatch, audit=30)
    retention.prune()
    with clock.set_to(clock.now() + timedelta(days=60)):
        retention.prune()  # of what the first time told, too
        assert faults() == []


DEEP = "[" * 900 + "]" * 900
PRUNED = "UPDATE events_auditevent SET activity_code = 'audit.prune', meta = %s"
# What the database itself cannot give.
BROKEN = {
    "sqlite": "UPDATE events_auditevent SET meta = CAST(x'22ff22' AS TEXT)",
    "postgresql": "UPDATE events_auditevent SET timestamp = 'infinity'",
}[connection.vendor]


@pytest.mark.parametrize(
    "updates",
    [
        *(
            [(PRUNED, meta)]
            for meta in ("{}", '"x"', '{"ids": 5}', '{"ids": "9-1, x"}')
        ),
        *([(PRUNED, DEEP)], [(BROKEN,)], [(PRUNED, '{"ids": "1"}'), (BROKEN,)]),
    ],
    ids=["none", "text", "number", "backwards", "deep", "broken", "broken retention"],
)
def test_what_nobody_can_read_is_named_and_hides_no_other_fault(updates: list[Any]):
    write(20)
    signed()
    first, second = AuditEvent.objects.order_by("id").values_list("id", flat=True)[4:6]
    for update, *values in updates:
        tamper(f"{update} WHERE id = %s", *values, first)
    tamper("UPDATE events_auditevent SET target_id = 'x' WHERE id = %s", second)
    assert [about for _, about in faults()] == [f"event {first}", f"event {second}"]


@pytest.mark.django_db(transaction=True)
def test_what_retention_takes_while_it_is_read_one_by_one_is_not_the_end(
    monkeypatch: pytest.MonkeyPatch,
):
    # Three batches, of which one is old as a whole.
    old, _ = write(4500, START), write(5)
    signed()
    keep(monkeypatch, audit=30)
    tamper("UPDATE events_auditevent SET meta = %s WHERE id = %s", DEEP, old[2500])
    taken: list[Any] = []

    def take(execute: Any, sql: str, values: Any, *rest: Any) -> Any:
        if '"id" = ' in sql and values[0] in old and not taken:
            taken.extend(race([retention.prune]))
        return execute(sql, values, *rest)

    with connection.execute_wrapper(take):
        assert faults() == []
    assert taken[0][0].rows == len(old)


@pytest.mark.django_db(transaction=True)
def test_it_grows_right_while_others_write_and_grow():
    deeds = (lambda _: group_create(name=f"g{clock.now()}"), lambda _: heads.keep_up())
    with going_on(*deeds, *deeds):
        for _ in range(20):
            heads.for_export()
    head = signed()
    assert list(tree.all_leaves(head.tree_size)) == stored_leaves()
    assert faults() == []
    assert AuditKey.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_nobody_signs_with_a_key_that_is_being_replaced(
    monkeypatch: pytest.MonkeyPatch,
):
    write(3)
    signed()
    write(3)
    make, pool = keys.make, ThreadPoolExecutor(1)

    def meanwhile(*args: Any, **more: Any) -> AuditKey:
        beside.append(pool.submit(race, [heads.sign_growth]))
        wait(beside, timeout=0.3)
        return make(*args, **more)

    beside: list[Future[Any]] = []
    monkeypatch.setattr(keys, "make", meanwhile)
    with pool:
        heads.rotate()
    assert beside[0].result()
    assert faults() == []


@pytest.mark.django_db(transaction=True)
def test_heads_stay_in_the_order_of_their_sizes_when_one_is_overtaken():
    write(3)
    signed()
    write(3)
    tree.grow_once()
    overtaken: list[AuditHead] = []

    def more() -> AuditHead:
        write(3)
        return signed()

    def overtake(execute: Any, sql: str, *rest: Any) -> Any:
        if '"hashes"' in sql and not overtaken:  # the size to be signed is known
            overtaken.extend(race([more]))
        return execute(sql, *rest)

    with connection.execute_wrapper(overtake):
        assert heads.sign_growth() == overtaken[0]
    sizes = list(AuditHead.objects.order_by("id").values_list("tree_size", flat=True))
    assert sizes == sorted({*sizes})
