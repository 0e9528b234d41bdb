"""Zones and records as the API shows them."""

from collections.abc import Sequence
from typing import Any

from dns.models import Record, Zone, ZoneGroup
from meshmgmt.core.errors import NotFound
from meshmgmt.core.orderedlinks import ids_by_owner

Row = dict[str, Any]

ZONE_KIND = "zone"
RECORD_KIND = "record"
_ZONE_COLUMNS = ("id", "name", "domain", "enabled", "enable_search_domain")


def zone_rows(ids: Sequence[str] | None = None) -> list[Row]:
    """Return all zones with their records, or those with `ids`, in order of creation."""
    found = Zone.objects.order_by("id")
    records = Record.objects.order_by("id")
    if ids is not None:
        found = found.filter(pk__in=ids)
        records = records.filter(zone__in=ids)
    rows: list[Row] = [dict(row) for row in found.values(*_ZONE_COLUMNS)]
    groups = ids_by_owner(ZoneGroup, ids)
    by_zone: dict[str, list[Row]] = {row["id"]: [] for row in rows}
    # Tuples unpacked by hand: for 20,000 records half the time of values().
    for zone_id, id_, name, type_, content, ttl in records.values_list(
        "zone_id", "id", "name", "type", "content", "ttl"
    ):
        by_zone[zone_id].append(
            {"id": id_, "name": name, "type": type_, "content": content, "ttl": ttl}
        )
    for row in rows:
        row["distribution_groups"] = groups.get(row["id"], [])
        row["records"] = by_zone[row["id"]]
    return rows


def record_rows(zone_id: str, ids: Sequence[str] | None = None) -> list[Row]:
    """Return the records of a zone, or those with `ids`, in order of creation.

    Raises NotFound for an unknown zone.
    """
    records = Record.objects.filter(zone=zone_id).order_by("id")
    if ids is not None:
        records = records.filter(pk__in=ids)
    columns = ("id", "name", "type", "content", "ttl")
    rows = [dict(row) for row in records.values(*columns)]
    if not rows and not Zone.objects.filter(pk=zone_id).exists():
        raise NotFound.of(ZONE_KIND, zone_id)
    return rows
