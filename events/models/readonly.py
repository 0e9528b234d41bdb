"""Rows that only ingest writes and only retention removes."""

from typing import Any, NoReturn

import orjson
from django.db import models


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError("events are written by ingest and removed by retention alone")


class ReadOnlyQuerySet(models.QuerySet[Any]):
    create = bulk_create = update = delete = _refuse


class ReadOnlyModel(models.Model):
    """An event, whose instances are never saved or deleted one by one."""

    body: Any
    """The JSON text that clients get; each stream has it as a column."""

    objects = ReadOnlyQuerySet.as_manager()

    class Meta:
        abstract = True
        managed = True
        default_permissions = ("view",)

    def __str__(self) -> str:
        return str(self.pk)

    @property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = orjson.loads(self.body)
        return content

    save = delete = _refuse
