"""The account write lock and read snapshots, with real connections."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from django.db import connection, transaction
from django.dispatch import Signal

from events.models import AuditEvent
from meshmgmt.core.transactions import (
    account_write,
    lock_held,
    lock_waited,
    read_snapshot,
    write_number,
    writers,
)
from tests.factories import newest_event
from tests.races import held_elsewhere, race
from tests.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def empty_trail() -> None:
    AuditEvent.objects.all().prune()


def add_event(code: str = "group.add") -> None:
    AuditEvent(activity_code=code).save()


def test_second_writer_waits_until_the_first_has_committed():
    order: list[str] = []
    inside = threading.Event()

    def first() -> None:
        with account_write():
            inside.set()
            until(lambda: writers._inside == 2, "a second writer in the lane")
            order.append("first")

    def second() -> None:
        inside.wait(5)
        with account_write():
            order.append("second")

    race([first, second])
    assert order == ["first", "second"]


def test_event_ids_are_in_commit_order():
    def write() -> None:
        for _ in range(10):
            with account_write():
                add_event()
                seen.append(newest_event().pk)

    seen: list[int] = []
    race([write] * 4)
    assert len(seen) == 40
    assert seen == sorted(seen)


def test_failed_block_leaves_nothing_behind():
    with pytest.raises(RuntimeError), account_write():
        add_event()
        raise RuntimeError
    assert AuditEvent.objects.count() == 0
    assert write_number() == 0


def test_nested_write_is_a_savepoint_of_the_outer_one():
    with account_write():
        add_event()
        number = write_number()
        with pytest.raises(RuntimeError), account_write():
            assert write_number() == number
            add_event("group.delete")
            raise RuntimeError
    assert [e.activity_code for e in AuditEvent.objects.all()] == ["group.add"]


def test_waiting_for_and_holding_the_lock_are_reported():
    heard: dict[Signal, float] = {}

    def note(signal: Signal, seconds: float, **kwargs: object) -> None:
        heard[signal] = seconds

    for signal in (lock_waited, lock_held):
        signal.connect(note)
    try:
        with account_write():
            begun = time.perf_counter()
            add_event()
            inside = time.perf_counter() - begun
    finally:
        for signal in (lock_waited, lock_held):
            signal.disconnect(note)
    assert heard[lock_held] >= inside
    assert heard[lock_waited] >= 0


def test_snapshot_does_not_see_what_commits_meanwhile():
    add_event()
    with read_snapshot():
        before = AuditEvent.objects.count()
        race([add_event])
        assert AuditEvent.objects.count() == before == 1
    assert AuditEvent.objects.count() == 2


def test_snapshot_does_not_wait_for_a_writer():
    @contextmanager
    def writing() -> Iterator[None]:
        with account_write():
            add_event()
            yield

    with held_elsewhere(writing()):
        begun = time.monotonic()
        with read_snapshot():
            assert AuditEvent.objects.count() == 0
        assert time.monotonic() - begun < 4


def test_writes_begin_immediately_again_after_a_snapshot():
    with read_snapshot():
        AuditEvent.objects.count()
    if connection.vendor == "sqlite":
        assert cast("Any", connection).transaction_mode == "IMMEDIATE"


def test_snapshot_inside_a_write_joins_it():
    with transaction.atomic():
        add_event()
        with read_snapshot():
            assert AuditEvent.objects.count() == 1
