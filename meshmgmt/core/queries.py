"""Look-ups by the ids that clients send."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from django.db import models

from meshmgmt.core.errors import NotFound
from meshmgmt.core.ids import is_id

Item = TypeVar("Item")
ModelT = TypeVar("ModelT", bound=models.Model)

BATCH: Final = 500
"""Databases bound the number of parameters of a statement; SQLite by 999 at worst."""


def batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Yield the items in parts that a statement can take."""
    for start in range(0, len(items), BATCH):
        yield items[start : start + BATCH]


def known_ids(model: type[models.Model], ids: Iterable[str]) -> set[str]:
    wanted = [identifier for identifier in dict.fromkeys(ids) if is_id(identifier)]
    rows = model._default_manager.order_by().values_list("pk", flat=True)
    return {pk for part in batches(wanted) for pk in rows.filter(pk__in=part)}


def found(
    model: type[ModelT], identifier: str, *, kind: str, **where: object
) -> ModelT:
    """Return the object with the id (and `where`). Raises NotFound naming `kind`."""
    instance = model._default_manager.filter(pk=identifier, **where).first()
    if instance is None:
        raise NotFound.of(kind, identifier)
    return instance
