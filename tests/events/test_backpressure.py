"""Batches that wait for others in vain are sent away, and stored when sent again."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from django.db import connection

from events.streams import pages
from events.streams.catalogue import TRAFFIC
from meshmgmt.core.transactions import writers
from tests.api_client import Api
from tests.events.backends import second_session
from tests.events.samples import traffic
from tests.races import lock_held_elsewhere

pytestmark = pytest.mark.django_db(transaction=True)

PATH: Final = "/api/events/network-traffic"


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
        refused = api.post(PATH, batch)
    assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
    assert "send this one again" in refused.json["message"]
    assert pages.everything(TRAFFIC) == 0
    stored = api.post(PATH, batch)
    assert (stored.status, stored.json["accepted"]) == (200, 2)
