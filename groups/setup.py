"""What a database needs before it can be used: the group `All`."""

from typing import Any

from events.models import AuditEvent
from groups.models import ALL, Group, Issued
from meshmgmt.core.queries import tables_exist


def make_all_group(**kwargs: Any) -> None:
    """Make the group of all peers when it is missing (after migrations and flushes)."""
    # While only some apps are migrated, the group or its event has no table.
    if not tables_exist(Group, AuditEvent):
        return
    if not Group.objects.filter(name=ALL, issued=Issued.API).exists():
        Group(name=ALL).save()
