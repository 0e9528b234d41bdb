"""Log levels of the service: trace, debug, info, warn, error, fatal, panic.

They are the standard library's levels under the seed's names, with trace below debug
and panic above fatal.
"""

import logging
from typing import Final

from meshmgmt.env import LEVEL_NAMES

TRACE: Final = 5
PANIC: Final = 60

NUMBERS: Final = dict(
    zip(
        LEVEL_NAMES,
        (
            TRACE,
            logging.DEBUG,
            logging.INFO,
            logging.WARNING,
            logging.ERROR,
            logging.CRITICAL,
            PANIC,
        ),
        strict=True,
    )
)
_NAMES: Final = {number: name for name, number in NUMBERS.items()}


def name_of(number: int) -> str:
    """Return the seed's name of a level; numbers between levels count as the lower."""
    found = _NAMES.get(number)
    if found is not None:
        return found
    below = [known for known in _NAMES if known <= number]
    return _NAMES[max(below)] if below else LEVEL_NAMES[0]


def register() -> None:
    """Make the standard library know trace and panic by name."""
    logging.addLevelName(TRACE, "TRACE")
    logging.addLevelName(PANIC, "PANIC")
