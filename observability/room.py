"""What is measured of other rooms, and what the first page shows of it."""

from events.activities import Activity
from events.audit.specs import declare_emitted
from observability import homecards
from observability.metrics import receivers


def register() -> None:
    receivers.register()
    homecards.register()
    declare_emitted("observability.admin.loglevels", Activity.LOG_LEVEL_UPDATE)
