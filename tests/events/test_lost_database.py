"""The database goes away in the middle of a COPY: 503, and the next request works."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, LiteralString

import pytest
from django.db import close_old_connections, connection, connections

from events.streams import batches, pages
from events.streams.catalogue import TRAFFIC
from tests.api_client import Answer, Api
from tests.events.backends import second_session, waiting_pid
from tests.events.samples import traffic

pytestmark = [
    pytest.mark.skipif(connection.vendor != "postgresql", reason="COPY"),
    pytest.mark.django_db(transaction=True),
]

LOCK: Final = "LOCK TABLE events_trafficevent IN "
PATH: Final = "/api/events/network-traffic"


def twice_with_a_loss(call: Callable[[], Answer], lock: LiteralString) -> list[Answer]:
    """Return two answers; the first one's session ended while its COPY waited."""

    def run() -> Answer:
        close_old_connections()  # as a server does between two requests
        return call()

    with ThreadPoolExecutor(1) as pool, second_session() as other:
        other.execute(lock)
        first = pool.submit(run)
        other.execute("SELECT pg_terminate_backend(%s)", [waiting_pid(other, "COPY%")])
        answers = [first.result()]
        other.rollback()
        answers.append(pool.submit(run).result())
        pool.submit(connections.close_all).result()
    return answers


def test_a_page_is_answered_503_and_then_served(api: Api):
    batches.ingest_events(TRAFFIC, [traffic()])
    lost, served = twice_with_a_loss(
        lambda: api.get(PATH), LOCK + "ACCESS EXCLUSIVE MODE"
    )
    assert (lost.status, lost.headers["Retry-After"]) == (503, "1")
    assert (served.status, served.json["total_records"]) == (200, 1)


def test_a_batch_is_answered_503_and_then_stored(api: Api):
    batches.ingest_events(TRAFFIC, [traffic()])
    batch = [traffic(id="sent-again")]
    lost, stored = twice_with_a_loss(lambda: api.post(PATH, batch), LOCK + "SHARE MODE")
    assert (lost.status, lost.headers["Retry-After"]) == (503, "1")
    assert (stored.status, stored.json["accepted"]) == (200, 1)
    assert pages.everything(TRAFFIC) == 2
