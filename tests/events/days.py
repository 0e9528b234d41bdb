"""Days of the streams: how many are kept, and what interrupted runs leave of one."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any, Final

import pytest
from django.conf import settings
from django.db import OperationalError, connection

from events.models import TrafficEvent
from events.streams import batches, pages, partitions
from events.streams.catalogue import TRAFFIC
from meshmgmt.core import clock
from meshmgmt.core.queries import execute
from tests.events.backends import second_session
from tests.events.samples import moment, traffic

DAY: Final = 24 * 60
"""Minutes of one."""


def keep(monkeypatch: pytest.MonkeyPatch, **days: int) -> None:
    """Set how many days each stream is kept, by default for ever."""
    for_ever = dict.fromkeys(("traffic", "proxy", "audit"))
    kept: Any = {f"{x}_retention_days": n for x, n in (for_ever | days).items()}
    monkeypatch.setattr(settings, "SVC", replace(settings.SVC, **kept))


def day(ago: int) -> date:
    """Return the date `ago` days before today."""
    return (clock.now() - timedelta(days=ago)).date()


def store_day(ago: int, count: int = 3) -> None:
    """Store events of the day `ago` days before today."""
    batches.ingest_events(
        TRAFFIC,
        [traffic(id=f"{ago}-{n}", window_end=moment(ago * DAY)) for n in range(count)],
    )


def detach(ago: int) -> None:
    """Leave a day as a run does that is killed between detaching and dropping."""
    name = partitions.partition_name(TRAFFIC, day(ago))
    execute(f"ALTER TABLE {TRAFFIC.table} DETACH PARTITION {name}")


def detach_half(ago: int) -> None:
    """Leave a day as a run does that is killed while it waits for a reader."""
    name = partitions.partition_name(TRAFFIC, day(ago))
    with second_session() as reader, connection.cursor() as cursor:
        reader.execute("SELECT 1 FROM events_trafficevent LIMIT 1")
        cursor.execute("SET lock_timeout = '20ms'")
        with pytest.raises(OperationalError):
            cursor.execute(
                f"ALTER TABLE {TRAFFIC.table} DETACH PARTITION {name} CONCURRENTLY"
            )
        cursor.execute("RESET lock_timeout")
    assert partitions.attached(TRAFFIC)[day(ago)], "is not half detached"


def totals() -> tuple[int, int]:
    """Return how many events there are, as counted and as the tallies say."""
    return TrafficEvent.objects.count(), pages.everything(TRAFFIC)
