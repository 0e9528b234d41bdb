"""Turns the filters of an explorer's list into those of the summary above it."""

import calendar
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

Translation = Callable[[str], str]
ChartFilters = Mapping[str, tuple[str, Translation]]
"""By parameter of the list: the summary's parameter, and what makes its value."""


def same(value: str) -> str:
    """Return the value: list and summary spell it alike."""
    return value


def one_of(words: tuple[str, ...]) -> Translation:
    """Return a translation of positions into words, "" for what is none."""

    def word(value: str) -> str:
        known = value.isdecimal() and int(value) < len(words)
        return words[int(value)] if known else ""

    return word


SEARCH: Final[ChartFilters] = {"q": ("search", same)}


def summary_filters(
    query: Mapping[str, str], filters: ChartFilters, time_field: str
) -> dict[str, str]:
    """Return the summary's parameters for a list's query; `time_field` is its dates'."""
    chosen = {
        parameter: translate(query[name])
        for name, (parameter, translate) in filters.items()
        if query.get(name)
    }
    return chosen | _dates(query, time_field)


def _dates(query: Mapping[str, str], field: str) -> dict[str, str]:
    """Return first and last day of the year, month or day chosen in the hierarchy."""
    numbers = [query.get(f"{field}__{part}", "") for part in ("year", "month", "day")]
    year, month, day = (int(n) if n.isdecimal() else 0 for n in numbers)
    if not year:
        return {}
    try:
        last = day or calendar.monthrange(year, month or 12)[1]
        start = date(year, month or 1, day or 1)
        end = date(year, month or 12, last)
    except (ValueError, OverflowError):  # a date that is none: the list shows the error
        return {}
    return {"start_date": start.isoformat(), "end_date": end.isoformat()}
