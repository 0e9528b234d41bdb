"""The one registry of what refers to groups.

Every room that keeps ids of groups registers how they are found, named and taken out.
Deleting a group and the usage endpoint read nothing else, so a reference that is not
registered is a defect; a test walks all relations to `Group` to find one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import models
from django.db.models.functions import Cast

from events.audit.audited import AuditedModel
from meshmgmt.core import context
from meshmgmt.core.orderedlinks import OrderedLink, remove_from_lists, set_members
from meshmgmt.core.queries import batches
from meshmgmt.core.registry import Registry
from meshmgmt.core.resources import lists


@dataclass(frozen=True, slots=True)
class Usage:
    """One place where an object refers to a group.

    `kind` and `id` name the object, `field` the list of it; `disabled_by_deletion`
    says that the object is enabled now and would not be once the group is gone.
    """

    kind: str
    id: str
    name: str
    field: str
    disabled_by_deletion: bool = False


class Reference(ABC):
    """How one field of one model refers to groups."""

    __slots__ = ()
    model: type[models.Model]
    """What holds the reference: the rows of a list, or the object."""
    column: str
    """Name of the field that holds group ids."""
    kind: str
    """What the usage calls the objects that refer."""

    def rows(self, group_id: str) -> models.QuerySet[Any]:
        """Return the rows of `model` that may hold the group, all that do among them."""
        return self.model._default_manager.filter(**{self.column: group_id})

    @abstractmethod
    def usages(self, group_id: str) -> list[Usage]:
        """Return the objects that refer to the group."""

    @abstractmethod
    def unlink(self, group_id: str) -> None:
        """Take the group out of them; disable what must not be widened by that."""


@dataclass(frozen=True, slots=True)
class ListReference(Reference):
    """A list of groups kept as rows of an `OrderedLink`.

    `switch` names the owner's boolean that is turned off when the list becomes empty:
    the list restricts, and an empty one must not mean more than before. `turned_off` is
    called with the owners that were.
    """

    model: type[OrderedLink]
    kind: str
    switch: str = ""
    named: Callable[[Any], str] = str
    related: tuple[str, ...] = ()
    turned_off: Callable[[Sequence[Any]], None] | None = None

    column = "group"

    def usages(self, group_id: str) -> list[Usage]:
        """Return the owners of the lists with the group, in their order."""
        name = self.model.owner_field
        rows = (
            self.rows(group_id)
            .select_related(name, *(f"{name}__{part}" for part in self.related))
            .order_by(name, "id")
        )
        owners = {row.pk: row for row in (getattr(row, name) for row in rows)}
        kept = self._not_emptied(list(owners), group_id) if self.switch else set()
        return [
            Usage(
                kind=self.kind,
                id=str(owner.pk),
                name=self.named(owner),
                field=self.model.relation,
                disabled_by_deletion=owner.pk not in kept and self._turns_off(owner),
            )
            for owner in owners.values()
        ]

    def unlink(self, group_id: str) -> None:
        """Take the group out of every list and turn off owners left with none."""
        owners = remove_from_lists(self.model, *self.related, **{self.column: group_id})
        if not owners or not self.switch:
            return
        kept = self._not_emptied([owner.pk for owner in owners], group_id)
        # As they are stored: who was turned off for another list is not told again.
        emptied = [
            owner for owner in owners if owner.pk not in kept and self._turns_off(owner)
        ]
        for owner in emptied:
            setattr(owner, self.switch, False)
            owner.save(update_fields=[self.switch])
        if emptied and self.turned_off:
            self.turned_off(emptied)

    def _turns_off(self, owner: Any) -> bool:
        return bool(self.switch and getattr(owner, self.switch))

    def _not_emptied(self, owner_ids: list[Any], group_id: str) -> set[Any]:
        """Return the owners that list another group too."""
        name = f"{self.model.owner_field}_id"
        kept: set[Any] = set()
        for part in batches(owner_ids):
            rows = self.model._default_manager.filter(**{f"{name}__in": part})
            others = rows.exclude(**{self.column: group_id}).order_by()
            kept.update(others.values_list(name, flat=True))
        return kept


@dataclass(frozen=True, slots=True)
class JsonReference(Reference):
    """A list of group ids in a JSON column of an audited model.

    `switch` as in `ListReference`.
    """

    model: type[AuditedModel]
    column: str
    kind: str
    switch: str = ""
    named: Callable[[Any], str] = str

    def rows(self, group_id: str) -> models.QuerySet[Any]:
        """Search the column's text, which both databases can: ids are no words."""
        text = Cast(self.column, models.TextField())
        return self.model._default_manager.alias(text=text).filter(
            text__contains=group_id
        )

    def _holders(self, group_id: str) -> list[Any]:
        rows = self.rows(group_id).order_by("pk")
        return [row for row in rows if group_id in (getattr(row, self.column) or [])]

    def _turns_off(self, row: Any, group_id: str) -> bool:
        others = [entry for entry in getattr(row, self.column) if entry != group_id]
        return bool(self.switch and not others and getattr(row, self.switch))

    def usages(self, group_id: str) -> list[Usage]:
        """Return the rows whose column lists the group."""
        return [
            Usage(
                kind=self.kind,
                id=str(row.pk),
                name=self.named(row),
                field=self.column,
                disabled_by_deletion=self._turns_off(row, group_id),
            )
            for row in self._holders(group_id)
        ]

    def unlink(self, group_id: str) -> None:
        """Take the group out of the columns."""
        for row in self._holders(group_id):
            changed = [self.column]
            if self._turns_off(row, group_id):
                setattr(row, self.switch, False)
                changed.append(self.switch)
            entries = [x for x in getattr(row, self.column) if x != group_id]
            setattr(row, self.column, entries)
            row.save(update_fields=changed)


REFERENCES: Final = Registry[tuple[type[models.Model], str], Reference]()


def register(*references: Reference) -> None:
    """Add references, in the order in which deletion takes them out."""
    for reference in references:
        REFERENCES.add((reference.model, reference.column), reference)


def usages_of(group_id: str) -> list[Usage]:
    """Return everything that refers to the group, in the order of registration."""
    return [
        usage
        for reference in _referring(group_id)
        for usage in reference.usages(group_id)
    ]


def unlink_group(group: Any) -> None:
    """Empty a group that is about to be deleted and take it out of everything."""
    with context.scope(reason=f"group {group.name!r} was deleted"):
        for reference in _referring(group.pk):
            reference.unlink(group.pk)
        for link in lists(group._meta.model).values():
            set_members(link, group, [])


def _referring(group_id: str) -> list[Reference]:
    """Return the references that hold the group, found by one query for all of them."""
    numbered = [
        reference.rows(group_id)
        .order_by()
        .values_list(models.Value(number, models.IntegerField()))
        for number, reference in enumerate(REFERENCES.values())
    ]
    found = {number for (number,) in numbered[0].union(*numbered[1:])}
    return [ref for number, ref in enumerate(REFERENCES.values()) if number in found]
