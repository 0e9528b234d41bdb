"""What an explorer's page is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.safestring import SafeString

from events.admin.here import Here
from events.admin.inputs import Chip, Input, Span

ORDER: Final = ("sort_by", "sort_order")
BY_TIME: Final = "timestamp"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the list; `sort` is the API's word for its order, if it has one."""

    name: str
    label: str
    sort: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading; `order` is the address in its order, `arrow` how it is now."""

    name: str
    label: str
    order: str = ""
    arrow: str = ""


def heading(column: Column, here: Here) -> Heading:
    """Return the heading of a column by which the list can be sorted."""
    if not column.sort:
        return Heading(column.name, column.label)
    is_time = column.sort == BY_TIME
    chosen = here.values("sort_by") or [BY_TIME]
    upwards = here.values("sort_order") == ["asc"]
    if chosen != [column.sort]:
        order = "" if is_time else column.sort
        return Heading(
            column.name, column.label, here.with_(sort_by=order, sort_order="")
        )
    turned = "" if upwards else "asc"
    arrow = " \N{UPWARDS ARROW}" if upwards else " \N{DOWNWARDS ARROW}"
    return Heading(column.name, column.label, here.with_(sort_order=turned), arrow)


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


@dataclass(frozen=True, slots=True)
class Row:
    """One event of the list: its cells, in the order of the columns."""

    key: str
    cells: list[tuple[Column, SafeString]]


@dataclass(frozen=True, slots=True)
class Controls:
    """What stands around the rows."""

    views: list[tuple[str, str, bool]]
    span: Span
    inputs: list[Input]
    more: list[Input]
    more_chosen: bool
    chips: list[Chip]
    hidden: list[tuple[str, str]]
    live: bool
    toggle: str
    newer: str
    older: str
    newest: str
    exports: list[tuple[str, str]]
    headings: list[Heading]
    sorted: bool
