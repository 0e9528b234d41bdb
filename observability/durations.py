"""Durations as operators write them: 30s, 10m, 1h30m."""

import re
from typing import Final

LIMIT: Final = 24 * 3600
_UNITS: Final = {"h": 3600, "m": 60, "s": 1}
_PATTERN: Final = re.compile(r"(?:\d{1,5}[hms]){1,3}")


def parse(text: str) -> int:
    """Return the seconds of `text`. Raises ValueError naming what is allowed."""
    word = text.strip().lower()
    if _PATTERN.fullmatch(word):
        parts = re.findall(r"(\d+)([hms])", word)
        seconds = sum(int(number) * _UNITS[unit] for number, unit in parts)
        if len({unit for _, unit in parts}) == len(parts) and 0 < seconds <= LIMIT:
            return seconds
    raise ValueError(
        f"{text!r} is not a duration: use for example 30s, 10m or 1h30m, "
        "from one second to 24 hours"
    )


def write(seconds: float) -> str:
    """Return seconds in the same form, rounded to whole ones."""
    left, words = round(seconds), []
    for unit, size in _UNITS.items():
        count, left = divmod(left, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words) or "0s"
