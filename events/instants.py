"""Points in time as reporters send them and as clients read them (RFC 3339)."""

import re
from datetime import UTC, datetime
from typing import Final

from meshmgmt.core.clock import rfc3339

_RFC3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)


def parse_instant(text: str) -> datetime:
    """Return the instant `text` names, in UTC, cut to microseconds.

    Raises ValueError for anything that is not RFC 3339 with a zone: Python's own parser
    alone would also take week dates and times without a zone.
    """
    if not _RFC3339.fullmatch(text):
        raise ValueError("is not a date and time as RFC 3339 writes it")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError("is not a date and time that exists") from error


def render_instant(moment: datetime) -> str:
    return rfc3339(moment) or ""
