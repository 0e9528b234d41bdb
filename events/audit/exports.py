"""Exports of the audit trail: one JSON object per line, or CSV."""

from collections.abc import Iterable, Iterator
from typing import Final

import orjson

from events.audit.rows import Row

FIELDS: Final = (
    *("id", "timestamp", "activity", "activity_code", "initiator_id", "initiator_name"),
    *("initiator_email", "target_id", "target_type", "meta", "changes", "request_id"),
    *("source_address", "token_id"),
)


def ndjson_lines(rows: Iterable[Row]) -> Iterator[bytes]:
    for row in rows:
        yield orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)
