"""The object that a write is about."""

from typing import TypeVar

from django.db import models

from meshmgmt.core.errors import NotFound

ModelT = TypeVar("ModelT", bound=models.Model)


def found(
    model: type[ModelT], identifier: str, *, kind: str, **where: object
) -> ModelT:
    """Return the object with the id (and `where`). Raises NotFound."""
    rows = model._default_manager.filter(pk=identifier, **where)
    instance = rows.first()
    if instance is None:
        raise NotFound.of(kind, identifier)
    return instance
