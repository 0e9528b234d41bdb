"""Times of events against their order: what clocks did, the trail tells itself.

Ids of events grow with the commits, and so do their times, unless a clock was set back or
those of two hosts differ. A write whose time is well before that of the event before it
says so in an event of its own, so an event that is older than the one before it and of
which nothing is said was not written by this service.
"""

from datetime import datetime, timedelta
from typing import Final

from events.audit.reading import newest
from events.models import AuditKey

TOLERANCE: Final = timedelta(minutes=5)
"""How far clocks may be apart without a word."""


def goes_back(before: datetime, moment: datetime) -> bool:
    """Tell whether an event of `moment` must not stand behind one of `before`."""
    return before - moment > TOLERANCE


def stepped_back_from(moment: datetime) -> datetime | None:
    """Return the time of the newest event if `moment` goes back behind it.

    None before the first key too: of what was written until then the order of times
    proves nothing, demo data for one. To be called in a write, which alone adds events.
    """
    _, before = newest() or (0, moment)
    back = goes_back(before, moment) and AuditKey.objects.exists()
    return before if back else None
