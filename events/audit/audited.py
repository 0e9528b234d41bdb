"""Bases of audited models: every way of writing them leaves an event or is refused."""

from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any, Final, NoReturn, Self, TypeVar

from django.db import models
from django.db.models.deletion import Collector
from django.dispatch import Signal

from events.audit.lookup import remembering
from events.audit.specs import spec_of
from meshmgmt.core.ids import ID_LENGTH, new_id
from meshmgmt.core.transactions import account_write, write_number

ModelT = TypeVar("ModelT", bound=models.Model)

rows_created: Final = Signal()
"""Sent with `instances` of the sending model, after they were inserted at once."""


class AuditedQuerySet(models.QuerySet[ModelT]):
    """Refuses the bulk operations that send no signals."""

    def _refuse(self, name: str, instead: str) -> NoReturn:
        raise TypeError(f"{name}() on {self.model.__name__} is not audited: {instead}")

    def update(self, **kwargs: Any) -> int:
        self._refuse("update", "save objects, or use unaudited_update()")

    def bulk_create(self, objs: Iterable[ModelT], *args: Any, **kwargs: Any) -> Any:
        self._refuse("bulk_create", "use audited_bulk_create()")

    def bulk_update(self, objs: Iterable[ModelT], *args: Any, **kwargs: Any) -> Any:
        self._refuse("bulk_update", "save the objects one by one")

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete the selected objects one by one signal, in one account write."""
        with account_write(), remembering():
            return super().delete()

    delete.alters_data = True  # type: ignore[attr-defined]
    delete.queryset_only = True  # type: ignore[attr-defined]

    def unaudited_update(self, **values: Any) -> int:
        """Set columns that the model's spec declares as unaudited or as reported.

        Returns the count. Raises TypeError for any other column.
        """
        spec = spec_of(self.model)
        allowed = spec.unaudited | spec.reported if spec else frozenset()
        if refused := sorted(set(values) - allowed):
            raise TypeError(f"{', '.join(refused)} of {self.model.__name__} is audited")
        return super().update(**values)


class AuditedModel(models.Model):
    """A model whose changes are in the audit trail.

    Saving and deleting happen in an account write. What the object looked like before is
    known from loading it inside that write, else it is read again under the lock.
    """

    # (number of the account write in which the values were read, values by column)
    _audit_loaded: tuple[int, dict[str, Any]] = (0, {})

    id = models.CharField(
        primary_key=True, max_length=ID_LENGTH, default=new_id, editable=False
    )

    objects = AuditedQuerySet.as_manager()

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        with account_write(savepoint=False):
            super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        with account_write(savepoint=False), remembering():
            return super().delete(*args, **kwargs)

    @classmethod
    def from_db(
        cls,
        db: str | None,
        field_names: Collection[str],
        values: Collection[Any],
        **kwargs: Any,
    ) -> Self:
        """Keep the values read, for the comparison when the object is saved."""
        instance = super().from_db(db, field_names, values, **kwargs)
        # Outside of a write a copy would cost every read, and be too old to compare with.
        if number := write_number():
            loaded = dict(zip(field_names, values, strict=False))
            instance._audit_loaded = (number, copied(loaded))
        return instance


def copied(values: dict[str, Any]) -> dict[str, Any]:
    """Copy what could be changed in place (JSON columns)."""
    return {
        name: deepcopy(value) if isinstance(value, list | dict) else value
        for name, value in values.items()
    }


def audited_bulk_create(
    instances: Sequence[AuditedModel], *, batch_size: int = 500
) -> None:
    """Insert objects of one audited model together, each with its event."""
    if not instances:
        return
    model = type(instances[0])
    with account_write(savepoint=False):
        # Past the manager, whose bulk_create() refuses; the signal below tells the trail.
        rows: models.QuerySet[Any] = models.QuerySet(model)
        rows.bulk_create(instances, batch_size=batch_size)
        rows_created.send(sender=model, instances=instances)


def audited_bulk_delete(instances: Sequence[AuditedModel]) -> None:
    """Delete objects of one audited model together, each with its event."""
    if not instances:
        return
    with account_write(), remembering():
        # As QuerySet.delete() does it, for objects that are already here.
        collector = Collector(using=instances[0]._state.db or "default")
        collector.collect(list(instances))
        collector.delete()
