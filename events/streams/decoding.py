"""Turns JSON into events: at once where nothing is wrong, else one by one.

Decoding a batch and checking its types and bounds is one pass of msgspec. Only a batch that
it refuses is gone through event by event, to drop nulls and to name the first fault.
"""

import re
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from events.streams.faults import BAD_TYPE, EventFault

# PostgreSQL's texts hold none, so events with one are refused on every database.
_ESCAPED_NUL: Final = b"\\u0000"
_NAMES: Final = {
    "str": "a text",
    "int": "a whole number",
    "object": "an object",
    "array": "a list",
}
_UNITS: Final = {"str": "characters", "object": "entries", "array": "items"}
_MISSING: Final = re.compile(r"Object missing required field `(\w+)`")
_EXPECTED: Final = re.compile(
    r"Expected `(?P<kind>\w+)`"
    r"(?:(?P<got>, got .*)|(?P<length> of length)? (?P<bound>[<>]=) (?P<number>\d+))"
)

Content = TypeVar("Content", bound=msgspec.Struct)


def good_events(kind: type[Content], text: bytes) -> list[Content] | None:
    """Return the events of an array or of lines; None when something may be wrong."""
    if _ESCAPED_NUL in text:
        return None
    array, line = _decoders(kind)
    try:
        text.decode()  # fields that are not known are not looked into
        is_array = text.startswith(b"[")
        found: list[Content] = (array.decode if is_array else line.decode_lines)(text)
    except (ValueError, RecursionError):
        return None
    return found


@cache
def _decoders(kind: type[Any]) -> tuple[Any, Any]:
    many: Any = list[kind]  # type: ignore[valid-type]  # not at run time
    return msgspec.json.Decoder(many), msgspec.json.Decoder(kind)


def one_event(kind: type[Content], event: Any) -> Content:
    """Return one event of parsed JSON; members that are null count as absent.

    Raises EventFault.
    """
    try:
        content = msgspec.convert(_without_nulls(event), kind)
    except msgspec.ValidationError as error:
        raise _fault(error) from error
    _refuse_nul(msgspec.to_builtins(content), "")
    return content


def _without_nulls(value: Any) -> Any:
    """Return objects without their null members, but for those of free metadata."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: member if name == "metadata" else _without_nulls(member)
        for name, member in value.items()
        if member is not None
    }


def _fault(error: msgspec.ValidationError) -> EventFault:
    # msgspec tells what is wrong in a sentence alone.
    text, _, place = str(error).partition(" - at `$")
    field = place.strip("`.")
    if match := _MISSING.fullmatch(text):
        return EventFault(f"{field}.{match[1]}".lstrip("."), "is required")
    match = _EXPECTED.fullmatch(text)
    if match is None:
        return EventFault(field, "is out of range")
    kind, number = match["kind"], match["number"]
    if match["got"]:
        return EventFault(field, f"must be {_NAMES[kind]}", BAD_TYPE)
    if match["bound"] == ">=":
        required = "is required" if match["length"] else f"is less than {number}"
        return EventFault(field, required)
    return EventFault(field, f"is more than {number} {_UNITS.get(kind, '')}".rstrip())


def _refuse_nul(value: Any, field: str) -> None:
    match value:
        case str() if "\0" in value:
            raise EventFault(field, "holds a NUL character")
        case dict():
            for name, member in value.items():
                _refuse_nul(name, field)
                _refuse_nul(member, f"{field}.{name}".lstrip("."))
        case list():
            for number, item in enumerate(value):
                _refuse_nul(item, f"{field}[{number}]")
