"""Parts of an object that are rows of their own: their change is one of the object too."""

from collections.abc import Sequence

from django.db import models

from events.audit.changes import Change
from events.audit.lookup import related_object
from events.audit.specs import spec_of

Key = tuple[type[models.Model], object]


def with_owners(changes: Sequence[Change]) -> list[Change]:
    """Return the changes, and before each changed part that of its owner.

    What happened to the parts is noted in the owner's change. An owner that is made or
    deleted in the same write says so itself.
    """
    known: dict[Key, Change] = {_key(change): change for change in changes}
    found: list[Change] = []
    for change in changes:
        spec = spec_of(type(change.instance))
        if spec is not None and spec.part_of and change.happened:
            owner = _owner(change, spec.part_of[0], known)
            if owner is not None and _key(owner) not in known:
                known[_key(owner)] = owner
                found.append(owner)
            if owner is not None:
                owner.note_part(spec.part_of[1], change)
        found.append(change)
    return found


def _key(change: Change) -> Key:
    return type(change.instance), change.pk


def _owner(change: Change, name: str, known: dict[Key, Change]) -> Change | None:
    relation = change.instance._meta.get_field(name)
    assert isinstance(relation, models.ForeignKey)
    pk = getattr(change.instance, relation.attname)
    if (relation.related_model, pk) in known:
        return known[relation.related_model, pk]
    instance = related_object(change.instance, name)
    return None if instance is None else Change(instance, pk, reason=change.reason)
