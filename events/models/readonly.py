"""Rows that only ingest writes and only retention removes."""

from typing import Any, NoReturn

from django.db import models

_REFUSAL = "events are written by ingest and removed by retention alone"


class ReadOnlyQuerySet(models.QuerySet[Any]):
    """A queryset that reads."""

    def create(self, **kwargs: Any) -> NoReturn:
        """Refuse."""
        raise TypeError(_REFUSAL)

    def bulk_create(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        raise TypeError(_REFUSAL)

    def update(self, **kwargs: Any) -> NoReturn:
        """Refuse."""
        raise TypeError(_REFUSAL)

    def delete(self) -> NoReturn:
        """Refuse."""
        raise TypeError(_REFUSAL)


class ReadOnlyModel(models.Model):
    """A model whose instances are never saved or deleted one by one."""

    objects = ReadOnlyQuerySet.as_manager()

    class Meta:
        abstract = True
        managed = True
        default_permissions = ("view",)

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        raise TypeError(_REFUSAL)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse."""
        raise TypeError(_REFUSAL)
