"""Lines that are JSON objects, and typed access to their members."""

import math
from typing import Any

import orjson

from meshmgmt.api.bodies import MAX_DEPTH, deeper_than


class LineFault(ValueError):
    """A line that is not what its format says."""


def parse_ndjson(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line, as strict as the endpoint. Raises LineFault."""
    found = json_object(line)
    if deeper_than(found, MAX_DEPTH):
        raise LineFault(f"is nested deeper than {MAX_DEPTH} levels")
    return found


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
    for name in names:
        value = record.get(name)
        if isinstance(value, str) and value not in {"", "-"}:
            return value
    return ""


def number_of(record: dict[str, Any], *names: str) -> float:
    """Return the first number, or text holding one, under `names`; 0 when none is."""
    for name in names:
        value = record.get(name)
        # To Python True is 1.
        if isinstance(value, bool) or value is None or value in ("", "-"):
            continue
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise LineFault(f"{name} is not a number") from error
        if not math.isfinite(number):
            raise LineFault(f"{name} is not a number")
        return number
    return 0.0
