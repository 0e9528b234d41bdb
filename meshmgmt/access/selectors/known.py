"""Which of the ids that a client sent exist."""

from collections.abc import Iterable

from django.db import models

from groups.models import Group
from meshmgmt.core.ids import is_id
from meshmgmt.inventory.models import NetworkResource, Peer

_BATCH = 500  # SQLite bounds the number of parameters of a statement


def known_ids(model: type[models.Model], ids: Iterable[str]) -> set[str]:
    """Return those of the ids that name an object of the model."""
    wanted = [identifier for identifier in dict.fromkeys(ids) if is_id(identifier)]
    known: set[str] = set()
    for start in range(0, len(wanted), _BATCH):
        rows = model._default_manager.filter(pk__in=wanted[start : start + _BATCH])
        known.update(rows.values_list("pk", flat=True))
    return known


def known_groups(ids: Iterable[str]) -> set[str]:
    """Return those of the ids that name a group."""
    return known_ids(Group, ids)


def resource_types(ids: Iterable[str]) -> dict[str, str]:
    """Return the type of each id that names a peer or a resource of a network."""
    wanted = [identifier for identifier in dict.fromkeys(ids) if is_id(identifier)]
    types = dict.fromkeys(known_ids(Peer, wanted), "peer")
    for start in range(0, len(wanted), _BATCH):
        rows = NetworkResource.objects.filter(pk__in=wanted[start : start + _BATCH])
        types.update(rows.values_list("pk", "type"))
    return types
