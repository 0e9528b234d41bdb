"""Points in time as proxies write them."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from events.instants import parse_instant, render_instant
from events.logfiles.ndjson import LineFault

_MONTHS: Final = (
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
)
_COMMON: Final = re.compile(
    r"(\d\d)/([A-Z][a-z]{2})/(\d{4}:\d\d:\d\d:\d\d [+-]\d{4})", re.ASCII
)
_BARE_OFFSET: Final = re.compile(r"([+-]\d\d)(\d\d)$", re.ASCII)

# Numbers of seconds, milliseconds and nanoseconds do not overlap: as seconds, the first
# bound is the year 5138, as milliseconds 1973; the second, as nanoseconds, is 1970.
_MILLISECONDS_FROM: Final = 10**11
_NANOSECONDS_FROM: Final = 10**15


def instant_of(record: dict[str, Any], *names: str) -> str:
    """Return the first time that is there under one of `names`, as events have it.

    Raises LineFault where there is none, or one that leaves its zone open.
    """
    for name in names:
        value = record.get(name)
        if value in (None, "", "-") or isinstance(value, bool):
            continue
        try:
            moment = any_time(value) if isinstance(value, str) else unix_time(value)
        except (TypeError, ValueError, OverflowError, OSError) as error:
            raise LineFault(f"{name} {value!r} is not a time with its zone") from error
        return render_instant(moment)
    raise LineFault(f"holds no {' or '.join(names)}")


def common_time(text: str) -> datetime:
    """Return the instant of the common log format: month names are always English.

    Raises ValueError.
    """
    match = _COMMON.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        raise ValueError("is not a time as the common log format writes it")
    day, month, rest = match.groups()
    number = _MONTHS.index(month) + 1
    moment = datetime.strptime(f"{day}/{number}/{rest}", "%d/%m/%Y:%H:%M:%S %z")
    return moment.astimezone(UTC)


def any_time(text: str) -> datetime:
    """Return the instant of RFC 3339, ISO 8601 (`+0000`), the common log, or a number.

    Raises ValueError, OverflowError or OSError.
    """
    if "/" in text:
        return common_time(text)
    with suppress(ValueError):  # nginx quotes all of its variables
        return unix_time(float(text))
    return parse_instant(_BARE_OFFSET.sub(r"\1:\2", text))


def unix_time(number: float) -> datetime:
    """Return the instant of seconds, milliseconds or nanoseconds since 1970.

    Raises ValueError, OverflowError or OSError.
    """
    size = abs(number)
    if size < _MILLISECONDS_FROM:
        return datetime.fromtimestamp(number, UTC)
    if size < _NANOSECONDS_FROM:
        return datetime.fromtimestamp(number / 1000, UTC)
    seconds, rest = divmod(int(number), 10**9)
    return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=rest // 1000)
