"""Hours, days and weeks of UTC: which an event falls into, which a span holds whole."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from django.db.models import BigIntegerField, F, Func

HOUR: Final = 3600
DAY: Final = 86_400
WIDTHS: Final = (HOUR, 6 * HOUR, DAY, 7 * DAY)
"""What sums are kept of; each divides the next. 90 days but for some hours at either end
are 40 of them at most, where they are 134 hours and days: what is read for each key."""

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
INSTANT: Final = timedelta(microseconds=1)
"""What times are told apart by, in either kind of database."""


class Bucket(Func):
    """Start of the bucket a time falls into, as seconds since the epoch."""

    output_field = BigIntegerField()

    def __init__(self, time: str, seconds: int) -> None:
        super().__init__(F(time))
        self.seconds = seconds

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        """Return the SQL for PostgreSQL, whose `extract` would make slow numerics."""
        whole = f"(floor(date_part('epoch', %(expressions)s) / {self.seconds})"
        return super().as_sql(
            compiler, connection, template=f"{whole} * {self.seconds})::bigint"
        )

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        """Return the SQL for SQLite, where % must be doubled twice."""
        # Without their fraction: strftime() rounds, .9995 to the next second.
        second = f"substr(%(expressions)s, 1, {len('2026-01-31 23:59:59')})"
        whole = f"CAST(strftime('%%%%s', {second}) AS INTEGER)"
        return super().as_sql(
            compiler,
            connection,
            template=f"({whole} / {self.seconds} * {self.seconds})",
        )


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` to before `end`, in seconds since 1970; whole hours."""

    start: int
    end: int

    @property
    def first(self) -> datetime:
        return EPOCH + timedelta(seconds=self.start)

    @property
    def last(self) -> datetime:
        """The last instant: the one of `end` may be beyond the calendar."""
        return EPOCH + (timedelta(seconds=self.end) - INSTANT)

    def without(self, holes: Iterable["Span"]) -> Iterator["Span"]:
        """Yield what is left; `holes` are in order and do not overlap."""
        start = self.start
        for hole in holes:
            # A hole may lie beyond the end, too: all before it is left.
            if start < (end := min(hole.start, self.end)):
                yield Span(start, end)
            start = max(start, hole.end)
        if start < self.end:
            yield Span(start, self.end)

    def within(self, other: "Span") -> Iterator["Span"]:
        """Yield the part that `other` has, too."""
        start, end = max(self.start, other.start), min(self.end, other.end)
        if start < end:
            yield Span(start, end)

    def by_width(
        self, widths: Sequence[int], until: int
    ) -> Iterator[tuple[int, "Span"]]:
        """Yield the widths that add up to the span, each where it is whole.

        The first of them divides the span; the others are there up to `until` alone.
        """
        *finer, width = widths
        if not finer:
            yield width, self
            return
        start, end = -(-self.start // width), min(self.end, until) // width
        wide = [Span(start * width, end * width)] if start < end else []
        for span in wide:
            yield width, span
        for rest in self.without(wide):
            yield from rest.by_width(finer, until)


def whole_hours(first: datetime, last: datetime) -> Span | None:
    """Return the hours that lie whole between two instants, both of them included."""
    hour = timedelta(seconds=HOUR)
    # Rounded up; spans end before an instant, questions with one.
    start = -((EPOCH - first) // hour) * HOUR
    end = (last - EPOCH + INSTANT) // hour * HOUR
    return Span(start, end) if start < end else None


def day_span(day: date) -> Span:
    start = (day - EPOCH.date()).days * DAY
    return Span(start, start + DAY)
