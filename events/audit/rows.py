"""Audit events as clients see them."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from events.activities import Activity
from events.instants import render_instant
from events.models import AuditEvent

Row = dict[str, Any]

LABELS: Final = {code.value: str(code.label) for code in Activity}

LIST_COLUMNS: Final = (
    *("id", "timestamp", "activity_code", "initiator_id", "initiator_name"),
    *("initiator_email", "target_id", "meta"),
)
DETAIL_COLUMNS: Final = (
    *LIST_COLUMNS,
    "target_type",
    "changes",
    "request_id",
    "source_address",
    "token_id",
)
EXPORTED: Final = (
    *("id", "timestamp", "activity", "activity_code", "initiator_id", "initiator_name"),
    *("initiator_email", "target_id", "target_type", "meta", "changes", "request_id"),
    *("source_address", "token_id"),
)
"""Fields of an export; the columns of its CSV keep their order, new ones come last."""


def list_rows(found: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield the contract's fields of tuples in the order of LIST_COLUMNS."""
    for number, timestamp, code, user_id, name, email, target_id, meta in found:
        yield {
            "id": str(number),
            "timestamp": render_instant(timestamp),
            "activity": LABELS.get(code, code),
            "activity_code": code,
            "initiator_id": user_id,
            "initiator_name": name,
            "initiator_email": email,
            "target_id": target_id,
            "meta": meta,
        }


def detail_rows(found: Iterable[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield everything we know, of tuples in the order of DETAIL_COLUMNS."""
    width = len(LIST_COLUMNS)
    for values in found:
        row = next(list_rows([values[:width]]))
        row.update(zip(DETAIL_COLUMNS[width:], values[width:], strict=True))
        yield row


def detail_row(event: AuditEvent) -> Row:
    values = tuple(getattr(event, name) for name in DETAIL_COLUMNS)
    return next(detail_rows([values]))
