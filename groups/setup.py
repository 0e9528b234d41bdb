"""What a database needs before it can be used: the group `All`; names of constraints."""

from typing import Any

from events.models import AuditEvent
from groups.models import ALL, Group, Issued
from meshmgmt.api.exceptions import register_constraint
from meshmgmt.core.tables import tables_exist

NAME_TAKEN = "a group with this name exists already"


def register_constraints() -> None:
    """Give the constraints of groups their sentences."""
    register_constraint("group_name_unique", NAME_TAKEN)
    register_constraint("groups_group.name", NAME_TAKEN)  # as SQLite names it


def make_all_group(**kwargs: Any) -> None:
    """Make the group of all peers when it is missing (after migrations and flushes)."""
    if not tables_exist(Group, AuditEvent):
        return
    if not Group.objects.filter(name=ALL, issued=Issued.API).exists():
        Group(name=ALL).save()
