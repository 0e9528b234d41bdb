"""Rows that only ingest writes and only retention removes."""

from typing import Any, NoReturn

from django.db import models


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("events are written by ingest and removed by retention alone")


class ReadOnlyQuerySet(models.QuerySet[Any]):
    create = bulk_create = update = delete = _refuse


class ReadOnlyModel(models.Model):
    """A model whose instances are never saved or deleted one by one."""

    objects = ReadOnlyQuerySet.as_manager()

    class Meta:
        abstract = True
        managed = True
        default_permissions = ("view",)

    save = delete = _refuse
