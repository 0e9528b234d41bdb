"""What lines of logs hold, in one form whichever proxy wrote them.

Typed access to the members of JSON objects, points in time, parts of requests. What a
client sent may be anything, but its request was served and is told of: entries that the
proxies wrote are made to fit the checks of ingest instead of being refused by them, for a
client could keep its requests out of the log otherwise.
"""

import math
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson

from events.instants import parse_instant, render_instant
from events.vocabulary import (
    ID_LIMIT,
    MAX_COUNTER,
    MAX_DURATION_MS,
    MAX_STATUS,
    METHOD_LIMIT,
    NAME_LIMIT,
    PATH_LIMIT,
)

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

_METHOD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # token of RFC 9110
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)(.*)", re.DOTALL)
_TUNNEL: Final = "CONNECT"

_SUBSTITUTE: Final = "\N{REPLACEMENT CHARACTER}"
_TEXTS: Final = {
    "service_id": ID_LIMIT,
    "method": METHOD_LIMIT,
    "host": NAME_LIMIT,
    "path": PATH_LIMIT,
    "user_id": ID_LIMIT,
    "country_code": NAME_LIMIT,
}
_NUMBERS: Final = {
    "status_code": MAX_STATUS,
    "duration_ms": MAX_DURATION_MS,
    "bytes_upload": MAX_COUNTER,
    "bytes_download": MAX_COUNTER,
}
TRUNCATED: Final = "truncated"
"""Key of the metadata under which the fields that were cut are listed."""


class LineFault(ValueError):
    """A line that is not what its format says."""


def json_object(line: bytes | str) -> dict[str, Any]:
    """Return the JSON object that `line` holds. Raises LineFault."""
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise LineFault(f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise LineFault("is not a JSON object")
    return value


def text_of(record: dict[str, Any], *names: str) -> str:
    """Return the first text that is there under one of `names`; `-` counts as none."""
    texts = (each for _, each in _given(record, names) if isinstance(each, str))
    return next(texts, "")


def number_of(record: dict[str, Any], *names: str) -> float:
    """Return the first number, or text holding one, under `names`; 0 when none is."""
    for name, value in _given(record, names):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise LineFault(f"{name} is not a number") from error
        if not math.isfinite(number):
            raise LineFault(f"{name} is not a number")
        return number
    return 0.0


def instant_of(record: dict[str, Any], *names: str) -> str:
    """Return the first time that is there under one of `names`, as events have it.

    Raises LineFault where there is none, or one that leaves its zone open.
    """
    for name, value in _given(record, names):
        try:
            moment = any_time(value) if isinstance(value, str) else unix_time(value)
        except (TypeError, ValueError, OverflowError, OSError) as error:
            raise LineFault(f"{name} {value!r} is not a time with its zone") from error
        return render_instant(moment)
    raise LineFault(f"holds no {' or '.join(names)}")


def _given(record: dict[str, Any], names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Yield what is there under names, each with its name; `-` counts as nothing."""
    for name in names:
        value = record.get(name)
        # To Python True is 1.
        if value not in (None, "", "-") and not isinstance(value, bool):
            yield name, value


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


class Request(NamedTuple):
    """What a request line says; `host` only when the target itself names one."""

    method: str
    host: str
    path: str


NOTHING: Final = Request("", "", "")


def request_of(line: str) -> Request:
    """Return what a request line says, of HTTP/0.9 as well; NOTHING for rubbish."""
    method, _, target = line.partition(" ")
    rest, _, version = target.rpartition(" ")
    if version.startswith("HTTP/"):
        target = rest
    known = target.startswith("/") or target == "*" or _ABSOLUTE.match(target)
    if not _METHOD.fullmatch(method) or not (known or method == _TUNNEL):
        return NOTHING
    return asked(method, target)


def asked(method: str, target: str) -> Request:
    """Return method, host and path of a request for `target` (RFC 9112, 3.2).

    Query and fragment are left out.
    """
    if method == _TUNNEL and not target.startswith("/"):
        return Request(method, bare_host(target), "")
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        return Request(method, "", _path(target))
    authority, rest = absolute.groups()
    # What stands before the @ is a secret.
    return Request(method, bare_host(authority.rpartition("@")[2]), _path(rest) or "/")


def _path(target: str) -> str:
    return target.partition("?")[0].partition("#")[0]


def bare_host(text: str) -> str:
    """Return a host in lower case, without port, brackets and the root's dot."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    # More colons than one are an IPv6 address without brackets, which has no port.
    host = text.partition(":")[0] if text.count(":") == 1 else text
    return host.lower().removesuffix(".")


def readable(line: bytes) -> str:
    """Return the text of a line, with U+FFFD for what is no UTF-8.

    A log that was truncated under a writer that does not append begins with NULs.
    """
    return line.lstrip(b"\0").decode(errors="replace")


def served(entry: dict[str, Any]) -> dict[str, Any]:
    """Return an entry that fits: long texts are cut, numbers brought into range."""
    cut = []
    for name, limit in _TEXTS.items():
        text = entry.get(name, "")
        if len(text) > limit:
            cut.append(name)
        if len(text) > limit or "\0" in text:
            entry[name] = text[:limit].replace("\0", _SUBSTITUTE)
    for name, high in _NUMBERS.items():
        entry[name] = round(min(max(entry.get(name, 0), 0), high))
    if cut:
        entry["metadata"] = {TRUNCATED: ",".join(cut)}
    return {**entry, "protocol": "http"}
