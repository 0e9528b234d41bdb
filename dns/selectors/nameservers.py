"""Nameserver groups as the API shows them."""

from collections.abc import Sequence
from typing import Any

from dns.models import NameserverGroup, NameserverGroupGroup
from dns.rules.nameservers import NAMESERVER_GROUP_COLUMNS
from meshmgmt.core.orderedlinks import ids_by_owner

Row = dict[str, Any]


def nameserver_group_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return all nameserver groups, or those with `ids`, in order of creation."""
    found = NameserverGroup.objects.order_by("id")
    if ids is not None:
        found = found.filter(pk__in=ids)
    rows: list[Row] = [
        dict(row) for row in found.values("id", *NAMESERVER_GROUP_COLUMNS)
    ]
    groups = ids_by_owner(NameserverGroupGroup, ids)
    for row in rows:
        row["groups"] = groups.get(row["id"], [])
    return rows
