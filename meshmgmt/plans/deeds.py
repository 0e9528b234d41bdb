"""What became of each object in a write, for people and for comparing two writes."""

import re
from typing import Any, Final

import orjson
from django.db import models

from events.audit.changes import Change
from events.audit.emission import shown_change
from events.audit.specs import spec_of

NEW: Final = "new-{}"
"""Stands for the id of the n-th object made, which the next time has another id."""
_WORD: Final = re.compile(r"\w+")


def action(change: Change) -> str:
    """Return "created", "deleted", "disabled" or "changed"."""
    if change.created:
        return "created"
    if change.deleted:
        return "deleted"
    off = change.changed("enabled") and change.after["enabled"] is False
    return "disabled" if off else "changed"


def shown(change: Change) -> dict[str, Any]:
    """Return one object and its fields, before and after, as the trail shows them."""
    return {
        "action": action(change),
        "type": _kind(change),
        "id": str(change.pk),
        "name": _name(change.instance),
        "changes": shown_change(change),
    }


def essence(changes: list[Change]) -> list[Any]:
    """Return what the changes do, equal for two writes that do the same.

    Times and what is drawn at random are left out, for a write at another moment has
    others, and ids made anew are numbered. What the request says is compared beside it.
    """
    made = (str(change.pk) for change in changes if change.created)
    new = {key: NEW.format(number) for number, key in enumerate(made, start=1)}
    # Ids are replaced in the text: they stand in lists and values of other objects, too. In
    # one go, for the write lock is held meanwhile.
    told = orjson.dumps([_essential(change) for change in changes]).decode()
    found: list[Any] = orjson.loads(
        _WORD.sub(lambda word: new.get(word[0], word[0]), told)
    )
    return found


def _essential(change: Change) -> list[Any]:
    spec = spec_of(type(change.instance))
    differing = set(spec.random) if spec is not None else set()
    differing |= {
        field.attname
        for field in change.instance._meta.concrete_fields
        if isinstance(field, models.DateTimeField)
    }
    fields = {
        name: value
        for name, value in shown_change(change).items()
        if name not in differing
    }
    return [action(change), _kind(change), str(change.pk), fields]


def _name(instance: models.Model) -> str:
    name = getattr(instance, "name", "")
    # What is deleted has no key any more, which some call themselves by.
    return str(name or ("" if instance.pk is None else instance))


def _kind(change: Change) -> str:
    return change.instance._meta.model_name or ""
