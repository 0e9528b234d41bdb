"""What a client sent may be anything, but its request was served and is told of.

Entries that the proxies wrote are made to fit the checks of ingest instead of being
refused by them: a client could keep its requests out of the log otherwise.
"""

from typing import Any, Final

from events.vocabulary import (
    ID_LIMIT,
    MAX_COUNTER,
    MAX_DURATION_MS,
    MAX_STATUS,
    METHOD_LIMIT,
    NAME_LIMIT,
    PATH_LIMIT,
)

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
