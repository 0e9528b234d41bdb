"""What an explorer's page is made of, and the pages of its list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet

from events.admin.here import Here
from events.keyset import Page, Place, read
from meshmgmt.core.errors import BadRequest

ORDER: Final = ("sort_by", "sort_order")
BY_TIME: Final = "timestamp"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the list; `sort` is the API's word for its order, if it has one."""

    name: str
    label: str
    sort: str = ""


def heading(column: Column, here: Here) -> dict[str, str]:
    """Return the heading of a column.

    Of one by which the list can be sorted `order` is the address in its order; of the one
    by which it is sorted `arrow` says how.
    """
    named = {"name": column.name, "label": column.label}
    if not column.sort:
        return named
    is_time = column.sort == BY_TIME
    chosen = here.values("sort_by") or [BY_TIME]
    upwards = here.values("sort_order") == ["asc"]
    if chosen != [column.sort]:
        order = "" if is_time else column.sort
        return {**named, "order": here.with_(sort_by=order, sort_order="")}
    turned = "" if upwards else "asc"
    arrow = " \N{UPWARDS ARROW}" if upwards else " \N{DOWNWARDS ARROW}"
    return {**named, "order": here.with_(sort_order=turned), "arrow": arrow}


TIME: Final = Column("second", "Time (UTC)")


@dataclass(frozen=True, slots=True)
class View:
    """A question that is asked often: a link above the list."""

    label: str
    query: Mapping[str, str | list[str]]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [
            (name, text)
            for name, value in self.query.items()
            for text in ([value] if isinstance(value, str) else value)
        ]


def read_rows(matching: QuerySet[Any], time: str, size: int, cursor: str) -> Page:
    """Return a page of `matching`. Raises BadRequest for a cursor that is none."""
    place = _parsed(cursor, matching.model) if cursor else None
    return read(matching, time, size, place, at=attrgetter(time, "pk"))


def sorted_rows(matching: QuerySet[Any], order: Sequence[str], size: int) -> Page:
    """Return the first rows in any order, found on narrow rows before they are read."""
    keys = list(matching.order_by(*order).values_list("pk", flat=True)[:size])
    rows = matching.model._default_manager.defer("search").in_bulk(keys)
    return Page([rows[key] for key in keys if key in rows])


def _parsed(cursor: str, model: type[Model]) -> Place:
    pk: Any = model._meta.pk
    try:
        place = Place.parsed(cursor)
        return replace(place, key=pk.to_python(place.key))
    except (ValueError, OverflowError, ValidationError) as error:
        raise BadRequest.about("cursor", "cursor: is no place in this list") from error
