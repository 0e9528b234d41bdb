"""The database is busy or goes away: 429 or 503, and the same request works later."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import LiteralString

import pytest
from django.db import close_old_connections, connection, connections

from events.streams import batches, pages
from events.streams.catalogue import TRAFFIC
from meshmgmt.core.transactions import writers
from tests.api_client import Answer, Api
from tests.events.backends import second_session, waiting_pid
from tests.events.samples import TRAFFIC_PATH, traffic
from tests.races import lock_held_elsewhere

pytestmark = pytest.mark.django_db(transaction=True)
in_a_copy = pytest.mark.skipif(connection.vendor != "postgresql", reason="COPY")


@contextmanager
def batches_held_up(patience: pytest.MonkeyPatch) -> Iterator[None]:
    """Let another store batches for longer than any is waited for."""
    if connection.vendor == "sqlite":
        patience.setattr(writers, "grace", 0.1)
        with lock_held_elsewhere():
            yield
        return
    with second_session() as other, connection.cursor() as cursor:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [TRAFFIC.lock_key])
        cursor.execute("SET lock_timeout = '100ms'")
        yield
        cursor.execute("RESET lock_timeout")


def test_a_batch_that_waits_in_vain_is_answered_429_and_stored_when_sent_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    batch = [traffic(id="early"), traffic(id="late")]
    with batches_held_up(monkeypatch):
        refused = api.post(TRAFFIC_PATH, batch)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert "send this one again" in refused.json["message"]
    assert pages.everything(TRAFFIC) == 0
    stored = api.post(TRAFFIC_PATH, batch)
    assert (stored.status, stored.json["accepted"]) == (200, 2)


@pytest.mark.postgresql
@pytest.mark.parametrize("mode", ["EXCLUSIVE", "ACCESS EXCLUSIVE"])
def test_a_batch_whose_stream_is_being_moved_is_told_to_come_again(api: Api, mode: str):
    """As create_distributed_table and undistribute_table lock it."""
    with second_session() as other, connection.cursor() as cursor:
        other.execute(f"LOCK TABLE {TRAFFIC.table} IN {mode} MODE")
        cursor.execute("SET lock_timeout = '100ms'")
        refused = api.post(TRAFFIC_PATH, [traffic()])
        cursor.execute("RESET lock_timeout")
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert refused.json["message"].startswith("the store is busy: ")


def answered_after_a_loss(call: Callable[[], Answer], lock: LiteralString) -> Answer:
    """Return the second answer; the first one's session ended while its COPY waited."""

    def run() -> Answer:
        close_old_connections()  # as a server does between two requests
        return call()

    with ThreadPoolExecutor(1) as pool, second_session() as other:
        other.execute(f"LOCK TABLE events_trafficevent IN {lock} MODE")
        first = pool.submit(run)
        other.execute("SELECT pg_terminate_backend(%s)", [waiting_pid(other, "COPY%")])
        lost = first.result()
        assert (lost.status, lost.headers["Retry-After"]) == (503, "1")
        other.rollback()
        answer = pool.submit(run).result()
        pool.submit(connections.close_all).result()
    return answer


@in_a_copy
def test_a_page_is_answered_503_and_then_served(api: Api):
    batches.ingest_events(TRAFFIC, [traffic()])
    served = answered_after_a_loss(lambda: api.get(TRAFFIC_PATH), "ACCESS EXCLUSIVE")
    assert (served.status, served.json["total_records"]) == (200, 1)


@in_a_copy
def test_a_batch_is_answered_503_and_then_stored(api: Api):
    batches.ingest_events(TRAFFIC, [traffic()])
    batch = [traffic(id="sent-again")]
    stored = answered_after_a_loss(lambda: api.post(TRAFFIC_PATH, batch), "SHARE")
    assert (stored.status, stored.json["accepted"]) == (200, 1)
    assert pages.everything(TRAFFIC) == 2
