"""Addresses of explorers that were made before their parameters were those of the API."""

import calendar
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from django.http import QueryDict

Translation = Callable[[str], str]
OldNames = Mapping[str, tuple[str, Translation]]
"""By old parameter: the one it became, and what makes its value."""


def same(value: str) -> str:
    return value


def one_of(words: tuple[str, ...]) -> Translation:
    """Return a translation of positions into words, "" for what is none."""

    def word(value: str) -> str:
        known = value.isdecimal() and int(value) < len(words)
        return words[int(value)] if known else ""

    return word


SEARCH: Final[OldNames] = {"q": ("search", same)}


def renewed(query: QueryDict, names: OldNames, time_field: str) -> QueryDict | None:
    """Return a query with today's names, None when it has no others."""
    dates = {f"{time_field}__{part}" for part in ("year", "month", "day")}
    old = (names.keys() | dates) & query.keys()
    if not old:
        return None
    new = query.copy()
    for name in old:
        del new[name]
    for name in sorted(old & names.keys()):
        parameter, translate = names[name]
        if value := translate(str(query[name])):
            new[parameter] = value
    for parameter, value in _days(query, time_field).items():
        new[parameter] = value
    return new


def _days(query: Mapping[str, str], field: str) -> dict[str, str]:
    """Return first and last day of the year, month or day that was chosen."""
    numbers = [query.get(f"{field}__{part}", "") for part in ("year", "month", "day")]
    year, month, day = (int(n) if n.isdecimal() else 0 for n in numbers)
    if not year:
        return {}
    try:
        last = day or calendar.monthrange(year, month or 12)[1]
        start = date(year, month or 1, day or 1)
        end = date(year, month or 12, last)
    except (ValueError, OverflowError):  # a date that is none
        return {}
    return {"start_date": start.isoformat(), "end_date": end.isoformat()}
