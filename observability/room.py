"""What is measured of other rooms, and what the first page shows of it."""

from events.activities import Activity
from events.audit.specs import declare_emitted
from observability import homecards
from observability.metrics import limits, store


def register() -> None:
    store.register()
    limits.register()
    homecards.register()
    declare_emitted("observability.admin.loglevels", Activity.LOG_LEVEL_UPDATE)
