"""How much of something there was in each of the last hours."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from events.streams.hours import HOUR
from events.streams.subjects import Subject
from events.streams.summaries import Question, Rows, summarise
from meshmgmt.core import clock

_EVERY_GROUP: Final = 100
"""More than any field has values that a course is added up from."""


def first_hour(hours: int) -> datetime:
    """Return when the first of the last `hours` hours began, the running one included."""
    begun = clock.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    return begun - timedelta(hours=hours - 1)


def course(
    subject: Subject,
    metric: str,
    by: str,
    hours: int,
    matching: tuple[Rows, Mapping[str, Any]] | None = None,
) -> list[int]:
    """Return a metric of whole hours (UTC), oldest first; the last one has just begun.

    It is added up from groups `by` a field of few values. `matching` are rows with the
    filters that made them; default: all.
    """
    rows, asked = matching or (subject.model._default_manager.all(), {})
    start = first_hour(hours)
    question = Question((by,), metric, HOUR, start, clock.now(), _EVERY_GROUP)
    values = [0] * hours
    for group in summarise(subject, rows, asked, question)["groups"]:
        for point in group["series"]:
            since = datetime.fromisoformat(point["time"]) - start
            values[since // timedelta(hours=1)] += point["value"]
    return values
