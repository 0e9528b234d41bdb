"""Objects that the events of a write are about, looked up when the events are made.

Events are made at the end of the write, when an object named in them may be gone
already: then the instance that was deleted in this very write answers for it. Each
object is read once per write, however many events name it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from django.db import models

from events.audit.changes import Change
from meshmgmt.core.queries import batches, stored

ModelT = TypeVar("ModelT", bound=models.Model)
_Known = dict[tuple[type[models.Model], Any], models.Model | None]

_known: ContextVar[_Known | None] = ContextVar("audit_lookup", default=None)


@contextmanager
def emission(changes: Iterable[Change]) -> Iterator[None]:
    """Make the objects made and deleted by `changes` known to `objects_by_id`.

    Django takes the id off an object that it deleted; here it has it back.
    """
    changes = list(changes)
    deleted = [change for change in changes if change.deleted]
    for change in deleted:
        change.instance.pk = change.pk
    token = _known.set(
        {
            (type(change.instance), change.pk): change.instance
            for change in changes
            if change.deleted or change.created
        }
    )
    try:
        yield
    finally:
        _known.reset(token)
        for change in deleted:
            change.instance.pk = None


@contextmanager
def remembering() -> Iterator[None]:
    """Read each object once for the duration of the block (deleting many objects)."""
    token = _known.set(dict(_known.get() or {}))
    try:
        yield
    finally:
        _known.reset(token)


def objects_by_id(model: type[ModelT], ids: Iterable[Any]) -> dict[Any, ModelT]:
    """Return the objects with `ids` that exist or were deleted in this write."""
    known = _known.get()
    if known is None:
        known = {}
    wanted = list(dict.fromkeys(ids))
    missing = [pk for pk in wanted if (model, pk) not in known]
    # What is not there is remembered, too: who names it again asks no second time.
    known.update({(model, pk): None for pk in missing})
    known.update({(model, found.pk): found for found in stored(model, missing)})
    return {
        pk: instance for pk in wanted if isinstance(instance := known[model, pk], model)
    }


def facts_by_id(
    model: type[models.Model], ids: Iterable[Any], *columns: str
) -> dict[Any, tuple[Any, ...]]:
    """Return columns of the objects that `objects_by_id` would find, without the rest.

    For events about thousands of objects: loading one takes ten times as long as its row.
    """
    known, wanted = _known.get() or {}, dict.fromkeys(ids)
    found = {
        pk: tuple(getattr(instance, name) for name in columns)
        for pk in wanted
        if (instance := known.get((model, pk))) is not None
    }
    for part in batches([pk for pk in wanted if pk not in found]):
        rows = model._default_manager.filter(pk__in=part).order_by()
        found |= {row[0]: row[1:] for row in rows.values_list("pk", *columns)}
    return found


def related_object(instance: models.Model, name: str) -> Any:
    """Return what the foreign key `name` of `instance` refers to; None for nothing.

    What is cached on the instance costs nothing; anything else is read once per write.
    """
    relation = instance._meta.get_field(name)
    if not isinstance(relation, models.ForeignKey):
        raise TypeError(f"{name} is not a foreign key")
    if relation.is_cached(instance):
        return getattr(instance, name)
    key = getattr(instance, relation.attname)
    return objects_by_id(relation.related_model, [key]).get(key)
