"""Histories: the events about one thing, of which the first after a moment tells what was.

A thing is one member of one list, or a set of fields of one object that changed together.
However often it changed, its key is stored with each event, so an index finds its first
event after a moment, or its last before one, without reading those in between.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson
from django.db import connection, models
from django.db.models import Max, Min, QuerySet

from events.models import AuditEvent
from meshmgmt.core.queries import batches, fetched

ONE_BY_ONE: Final = 30
"""Of so many owners each is looked for, of more all of the kind are gone through."""


def prefixes(kind: type[models.Model], owners: Collection[str] | None) -> list[str]:
    """Return what keys about owners, None: about all, of a kind begin with.

    With many owners it is what those of all begin with: one statement, not hundreds.
    """
    name = kind._meta.model_name
    if owners is None or len(owners) > ONE_BY_ONE:
        return [f"{name}/"]
    return [f"{name}/{owner}/" for owner in owners]


class ToldEvent(NamedTuple):
    """What is read of an event that is taken back."""

    pk: int
    activity_code: str
    target_id: str
    target_type: str
    meta: dict[str, Any]
    changes: dict[str, Any]


def events_by_id(ids: Iterable[int]) -> Iterator[ToldEvent]:
    """Yield the events with these ids, in no order.

    Tens of thousands may be asked for: as objects of the model they take four times as
    long.
    """
    names = ("id", *ToldEvent._fields[1:])
    found = fetched(
        f"SELECT {', '.join(names)} FROM {AuditEvent._meta.db_table}"  # noqa: S608 - our names
        f" WHERE id IN (SELECT CAST(asked.key AS bigint) FROM {_asked()})",
        [orjson.dumps(list(ids)).decode()],
    )
    for pk, code, target, kind, meta, changes in found:
        facts = orjson.loads(meta), orjson.loads(changes)
        yield ToldEvent(pk, code, target, kind, *facts)


def ids_of(keys: Sequence[str], most: int, **where: Any) -> set[int]:
    """Return the ids of events with one of the keys, the newest `most` among them."""
    events = AuditEvent.objects.filter(**where).order_by("-id")
    ids = events.values_list("id", flat=True)
    return {
        pk for part in batches(keys) for pk in ids.filter(history_key__in=part)[:most]
    }


def firsts_after(prefix: str, event_id: int, most: int) -> list[tuple[str, int]]:
    """Return `most` keys with a prefix, each with its first event after one."""
    # Key and id alone are asked for: the index answers, and no event is read.
    later = _of(prefix).filter(id__gt=event_id)
    return list(later.values_list("history_key").annotate(first=Min("id"))[:most])


def lasts_before(prefix: str, event_id: int) -> list[tuple[str, int]]:
    """Return the keys with a prefix, each with its last event before one."""
    earlier = _of(prefix).filter(id__lt=event_id)
    return list(earlier.values_list("history_key").annotate(last=Max("id")))


def lasts_of(keys: Sequence[str], event_id: int) -> dict[str, int]:
    """Return keys, each with its last event before one; 0 without any.

    Each key is looked up by itself: far less than all that ever came and went.
    """
    # PostgreSQL knows no common collation of column and text by itself.
    collation = {"postgresql": '"C"', "sqlite": "BINARY"}[connection.vendor]
    found = fetched(
        "SELECT asked.key, COALESCE((SELECT MAX(id)"  # noqa: S608 - our names
        f" FROM {AuditEvent._meta.db_table} WHERE id < %s"
        f" AND history_key = asked.key COLLATE {collation}), 0) FROM {_asked()}",
        [event_id, orjson.dumps(keys).decode()],
    )
    return dict(found)


def _asked() -> str:
    """Return what makes rows of one parameter, a JSON list.

    Reading a mark of each of many values takes longer than looking them up.
    """
    return {
        "postgresql": "json_array_elements_text(%s::json) AS asked(key)",
        "sqlite": "(SELECT value AS key FROM json_each(%s)) AS asked",
    }[connection.vendor]


def _of(prefix: str) -> QuerySet[AuditEvent, Any]:
    end = f"{prefix[:-1]}0"  # "0" follows "/"
    return AuditEvent.objects.filter(
        history_key__gte=prefix, history_key__lt=end
    ).order_by()
