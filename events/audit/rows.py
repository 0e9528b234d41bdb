"""Audit events as clients see them."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, NotRequired, TypedDict

from msgspec import Meta

from events.activities import LABELS
from events.instants import render_instant
from events.models import AuditEvent

Row = dict[str, Any]


class AuditRow(TypedDict):
    """What is shown of an event; lists leave out what is not required.

    Columns of an export keep this order, so new ones come last.
    """

    id: str
    timestamp: Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
    activity: str
    activity_code: str
    initiator_id: str
    initiator_name: str
    initiator_email: str
    target_id: str
    target_type: NotRequired[str]
    meta: dict[str, str]
    changes: NotRequired[
        Annotated[
            dict[str, Any],
            Meta(description="By field: before and after; by list: added and removed"),
        ]
    ]
    request_id: NotRequired[str]
    source_address: NotRequired[str]
    token_id: NotRequired[str]


DETAILED: Final = tuple(AuditRow.__annotations__)
LISTED: Final = tuple(name for name in DETAILED if name in AuditRow.__required_keys__)

# The activity is not stored: it is the label of its code.
DETAIL_COLUMNS: Final = tuple(name for name in DETAILED if name != "activity")
LIST_COLUMNS: Final = tuple(name for name in LISTED if name != "activity")


def list_rows(found: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield the contract's fields of tuples in the order of LIST_COLUMNS."""
    return _rows(LIST_COLUMNS, found)


def detail_rows(found: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield everything we know, of tuples in the order of DETAIL_COLUMNS."""
    return _rows(DETAIL_COLUMNS, found)


def detail_row(event: AuditEvent) -> Row:
    values = tuple(getattr(event, name) for name in DETAIL_COLUMNS)
    return next(detail_rows([values]))


def _rows(columns: tuple[str, ...], found: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    names = columns[2:]
    for number, timestamp, *values in found:
        row = {
            "id": str(number),
            "timestamp": render_instant(timestamp),
            "activity": LABELS.get(values[0], values[0]),
        }
        row.update(zip(names, values, strict=True))
        yield row
