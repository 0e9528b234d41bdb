"""Lengths of time as people write them: 90 days, 24 h, 10m, 1h30m."""

import datetime as dt
import re
from typing import Final

LIMIT: Final = 24 * 3600
GRACE: Final = dt.timedelta(hours=24)
"""How long a secret that was replaced is good, for those that hold it to take the new."""
UNITS: Final = {"w": 7 * 86400, "d": 86400, "h": 3600, "m": 60, "s": 1}
"""Seconds of each unit."""
_PART: Final = (
    r"(\d{1,10})\s*(w|d|h|m|s)(?:eeks?|ays?|ours?|in|ins|inutes?|ec|econds?)?"
)
_WHOLE: Final = re.compile(rf"(?:{_PART}[\s,]*){{1,5}}")


def total(text: str) -> int:
    """Return the seconds of `text`, units from weeks to seconds. Raises ValueError."""
    word = text.strip().lower()
    parts = re.findall(_PART, word) if _WHOLE.fullmatch(word) else []
    # A unit that comes twice, as in 1h1h, is a slip and no sum.
    if not parts or len({unit for _, unit in parts}) < len(parts):
        raise ValueError(
            f"{text[:64]!r} is no length of time such as 90 days, 24 h or 5 min"
        )
    return sum(int(number) * UNITS[unit] for number, unit in parts)


def parse(text: str) -> int:
    """Return seconds up to a day. Raises ValueError naming what is allowed."""
    try:
        seconds = total(text)
    except ValueError:
        seconds = 0
    if 0 < seconds <= LIMIT:
        return seconds
    raise ValueError(
        f"{text!r} is not a duration: use for example 30s, 10m or 1h30m, "
        "from one second to 24 hours"
    )


def write(seconds: float) -> str:
    """Return seconds as commands write them, rounded to whole ones: 1h30m."""
    left, words = round(seconds), []
    # From hours on: what commands take is a day at most.
    for unit, size in list(UNITS.items())[2:]:
        count, left = divmod(left, size)
        if count:
            words.append(f"{count}{unit}")
    return "".join(words) or "0s"


def words(seconds: int) -> str:
    """Return seconds as pages write them, in the largest unit they are a multiple of."""
    for size, name in ((86400, "days"), (3600, "h"), (60, "min")):
        # One day is 24 h: the word is for several.
        if seconds and seconds % size == 0 and seconds != size * (name == "days"):
            return f"{seconds // size} {name}"
    return f"{seconds} s"
