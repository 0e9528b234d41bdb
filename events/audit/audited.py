"""Audited models: every way of writing them leaves an event or is refused.

Their bases refuse what sends no signals; receivers note every other change, and report at
the end of the write.
"""

from collections.abc import Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any, Final, NoReturn, Self, TypeVar

from django.apps import apps
from django.db import models
from django.db.models.deletion import Collector
from django.db.models.signals import post_delete, post_save, pre_delete, pre_save
from django.dispatch import Signal

from events.audit.changes import Step, Values, record, remembering
from events.audit.emission import write_pending
from events.audit.specs import AuditSpec, spec_of
from meshmgmt.core.ids import ID_LENGTH, new_id
from meshmgmt.core.orderedlinks import OrderedLink, members_changed
from meshmgmt.core.queries import BATCH
from meshmgmt.core.transactions import account_write, write_ending, write_number

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
        ordering = ["id"]

    def __str__(self) -> str:
        """Return the name, which most have; the others say what they are called."""
        return str(getattr(self, "name", self.pk))

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


def audited_bulk_create(instances: Sequence[AuditedModel]) -> None:
    """Insert objects of one audited model together, each with its event."""
    if not instances:
        return
    model = type(instances[0])
    with account_write(savepoint=False):
        # Past the manager, whose bulk_create() refuses.
        rows: models.QuerySet[Any] = models.QuerySet(model)
        rows.bulk_create(instances, batch_size=BATCH)
        for instance in instances:
            _note_created(instance)
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


def register() -> None:
    """Follow every write of an audited model.

    Of no other: rows that somebody hears of are loaded one by one before they are deleted.
    """
    write_ending.connect(write_pending, dispatch_uid="audit.before_commit")
    members_changed.connect(
        after_members_change, dispatch_uid="audit.after_members_change"
    )
    for model in apps.get_models():
        if issubclass(model, AuditedModel):
            pre_save.connect(before_save, model, dispatch_uid="audit")
            post_save.connect(after_save, model, dispatch_uid="audit")
            pre_delete.connect(before_delete, model, dispatch_uid="audit")
        elif issubclass(model, OrderedLink):
            post_delete.connect(after_link_delete, model, dispatch_uid="audit")


def current_values(spec: AuditSpec, instance: models.Model) -> Values:
    """Return the audited columns of `instance` as the database would hold them."""
    field: Any = spec.model._meta.get_field
    return copied(
        {name: field(name).to_python(getattr(instance, name)) for name in spec.columns}
    )


def before_save(
    sender: type[AuditedModel], instance: AuditedModel, raw: bool, **kwargs: Any
) -> None:
    """Make sure that the values before the save are known."""
    spec = spec_of(sender)
    if spec is None or raw:  # raw: a fixture
        return
    number, loaded = instance._audit_loaded
    if instance._state.adding:
        instance._audit_loaded = (write_number(), {})
    elif number != write_number() or not loaded.keys() >= set(spec.columns):
        # What was read before the lock may be another writer's past, and what only() left
        # out would be read one column at a time.
        stored = sender._base_manager.filter(pk=instance.pk).values(*spec.columns)
        instance._audit_loaded = (write_number(), dict(stored.first() or {}))


def after_save(
    sender: type[AuditedModel],
    instance: AuditedModel,
    created: bool,
    raw: bool,
    update_fields: frozenset[str] | None,
    **kwargs: Any,
) -> None:
    """Note a creation, or the fields whose value is another now."""
    spec = spec_of(sender)
    if spec is None or raw:
        return
    if created:
        _note_created(instance)
        return
    before = instance._audit_loaded[1]
    after = current_values(spec, instance)
    # The instance may hold changes that this save does not write.
    if update_fields is not None:
        written = {
            column.attname
            for column in sender._meta.concrete_fields
            if column.name in update_fields or column.attname in update_fields
        }
        after = {name: after[name] for name in after if name in written}
    changed = [name for name in after if before.get(name) != after[name]]
    if changed:
        record(
            Step(
                "updated",
                instance,
                instance.pk,
                before={name: before.get(name) for name in changed},
                after={name: after[name] for name in changed},
            )
        )
    instance._audit_loaded = (write_number(), {**before, **after})


def _note_created(instance: AuditedModel) -> None:
    spec = spec_of(type(instance))
    if spec is None:
        return
    values = current_values(spec, instance)
    record(Step("created", instance, instance.pk, after=values))
    instance._audit_loaded = (write_number(), values)


def before_delete(
    sender: type[AuditedModel], instance: AuditedModel, **kwargs: Any
) -> None:
    """Note a deletion while relations of the object can still be described."""
    spec = spec_of(sender)
    if spec is None:
        return
    # After the deletion, lists and foreign keys lead nowhere.
    held: AuditedModel | None = instance
    if instance._audit_loaded[0] != write_number():  # read before the lock
        held = sender._base_manager.filter(pk=instance.pk).first()
    if held is None:
        return  # somebody else deleted it
    record(
        Step(
            "deleted",
            held,
            instance.pk,
            before=current_values(spec, held),
            meta=spec.meta(held),
        )
    )


def after_link_delete(
    sender: type[OrderedLink], instance: OrderedLink, **kwargs: Any
) -> None:
    """Note that a membership row went, by whatever way."""
    # Deletions that cascade pass by set_members(), which else tells of members.
    after_members_change(
        sender,
        link=sender,
        owner=getattr(instance, instance.owner_field),
        added=[],
        removed=[instance.member_key],
        order=None,
    )


def after_members_change(
    sender: object,
    *,
    link: type[OrderedLink],
    owner: models.Model,
    added: Sequence[Any],
    removed: Sequence[Any],
    order: list[Any] | None,
    before: list[Any] | None = None,
    **kwargs: Any,
) -> None:
    if spec_of(type(owner)) is None:
        return
    record(
        Step(
            "members",
            owner,
            owner.pk,
            link=link,
            added=list(added),
            removed=list(removed),
            order=order,
            listed=before,
        )
    )
