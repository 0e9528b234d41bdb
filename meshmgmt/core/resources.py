"""How objects of one model are written: checked, completed, saved, with their lists.

The model alone declares what is stored: the columns that can be edited, and the ordered
lists that an `OrderedLink` keeps for it. *Values* are both by name, as a checked body has
them: a foreign key is an id, "" for none, a list its members in their order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from django.db import models

from meshmgmt.core.errors import FieldError, NotFound, raise_field_errors
from meshmgmt.core.orderedlinks import (
    OrderedLink,
    all_links,
    ids_by_owner,
    member_keys,
    set_members,
)
from meshmgmt.core.queries import known_ids, narrowed
from meshmgmt.core.transactions import account_write

ModelT = TypeVar("ModelT", bound=models.Model)
Model = type[models.Model]
Values = Mapping[str, Any]
Row = dict[str, Any]


@cache
def whole_of(model: Model) -> "models.ForeignKey[Any, Any] | None":
    """Return the key to what objects are parts of, and are deleted with."""
    for field in model._meta.concrete_fields:
        remote: Any = field.remote_field
        if remote is not None and remote.on_delete is models.CASCADE:
            assert isinstance(field, models.ForeignKey)
            return field
    return None


@cache
def columns(model: Model) -> dict[str, str]:
    """Return the columns that clients write, by name: how rows call them."""
    return {
        field.name: field.attname
        for field in model._meta.concrete_fields
        if field.editable and field is not whole_of(model)
    }


@cache
def lists(model: Model) -> dict[str, type[OrderedLink]]:
    """Return what keeps the ordered lists of objects, by the name of the list."""
    return {
        link.relation: link
        for link in all_links()
        if _target(link, link.owner_field) is model
    }


def _target(model: Model, key: str) -> Model:
    """Return what a foreign key, or the column of one, points at."""
    field: Any = model._meta.get_field(key.removesuffix("_id"))
    return field.remote_field.model  # type: ignore[no-any-return]


def column_values(instance: models.Model) -> Row:
    """Return the values of an object's columns."""
    model = type(instance)
    return {
        name: (getattr(instance, attname) or "")
        if name != attname
        else getattr(instance, attname)
        for name, attname in columns(model).items()
    }


def stored_rows(
    model: Model, ids: Sequence[str] | None = None, *, within: str | None = ""
) -> list[Row]:
    """Return the id and all values of objects (`ids`; None: all) in order of creation.

    `within` is the id of what they are parts of; "" for those of all.
    """
    found = model._default_manager.order_by("pk")
    if within and (whole := whole_of(model)):
        found = found.filter(**{whole.attname: within})
    rows: list[Row] = list(narrowed(found, ids).values("id", *columns(model).values()))
    if not rows:
        return []
    chosen = [row["id"] for row in rows] if within else ids
    listed = {name: ids_by_owner(link, chosen) for name, link in lists(model).items()}
    keys = {name: of for name, of in columns(model).items() if name != of}
    for row in rows:
        row |= {name: row.pop(attname) or "" for name, attname in keys.items()}
        row |= {name: of.get(row["id"], []) for name, of in listed.items()}
    return rows


@dataclass(frozen=True, slots=True)
class Write(Generic[ModelT]):
    """A write about to be done: the object as it is, and the values that it shall have.

    `before` are the values that it has; none for a new one.
    """

    instance: ModelT
    before: Values
    values: Values

    @property
    def is_new(self) -> bool:
        return not self.before

    def known(self, name: str) -> set[str]:
        """Return those ids of a list or a foreign key that exist.

        What was there before is held by foreign keys, and needs no question.
        """
        model = type(self.instance)
        link = lists(model).get(name)
        if link is not None:
            there = set(self.before.get(name, ()))
            target, wanted = _target(link, link.member_fields[0]), self.values[name]
        else:
            there = {self.before.get(name, "")} - {""}
            target, wanted = _target(model, name), [self.values[name]]
        return there | known_ids(target, [key for key in wanted if key not in there])

    def is_taken(self, name: str) -> bool:
        """Tell whether another object has the same in a column."""
        if self.before.get(name) == self.values[name]:
            return False  # its own, which is unique
        same = type(self.instance)._default_manager.filter(**{name: self.values[name]})
        return same.exclude(pk=self.instance.pk).exists()


class Resource(Generic[ModelT]):
    """Objects of one kind: what makes, changes and deletes them, each in one account write.

    A subclass gives `model`, `kind` (for messages) and `errors`, and overrides what is
    special. All writes raise NotFound, InvalidArgument, Conflict.
    """

    model: type[ModelT]
    kind: ClassVar[str]
    whole: "ClassVar[Resource[Any] | None]" = None
    """What these objects are parts of."""
    defaults: ClassVar[Values] = {}
    """What a new object has that is not said, where the model has another default."""

    def errors(self, write: Write[ModelT]) -> Iterable[FieldError]:
        """Return the broken rules, first the one that decides."""
        raise NotImplementedError

    def complete(self, instance: ModelT) -> None:
        """Fill the columns that follow from others; the rules found them right."""

    def get(self, identifier: str, within: str = "") -> ModelT:
        """Return an object, in one query as long as it is there. Raises NotFound."""
        rows = self.model._default_manager.filter(pk=identifier)
        if key := whole_of(self.model):
            # Rules and events of a part ask for its whole.
            rows = rows.select_related(key.name)
            rows = rows.filter(**{key.attname: within}) if within else rows
        instance = rows.first()
        if instance is None:
            self.require_whole(within)
            raise NotFound.of(self.kind, identifier)
        return instance

    def require_whole(self, within: str) -> None:
        """Raise NotFound when there is nothing that objects could be parts of."""
        if within and self.whole is not None:
            self.whole.get(within)

    def create(self, data: Values, within: str = "") -> ModelT:
        """Make an object, as a part of the one with the id `within`."""
        with account_write():
            instance = self.model()
            if self.whole is not None and (key := whole_of(self.model)):
                setattr(instance, key.name, self.whole.get(within))
            values = {**self.blank(instance), **self.defaults, **data}
            self._write(Write(instance, {}, self._folded(values)))
            return instance

    def update(self, identifier: str, data: Values, within: str = "") -> ModelT:
        """Change what is given of an object, keep the rest; as it is, it is not written."""
        with account_write():
            # Read under the lock: what a client leaves out keeps its value, and that must
            # not be one which somebody else is replacing.
            instance = self.get(identifier, within)
            before = self.stored(instance)
            self._write(Write(instance, before, self._folded({**before, **data})))
            return instance

    def delete(self, identifier: str, within: str = "") -> None:
        """Delete an object."""
        with account_write():
            self.get(identifier, within).delete()

    def prepare(self, instance: ModelT, listed: Values) -> None:
        """Check and complete an object that is made as it is, with these lists."""
        values = {**self.blank(instance), **listed}
        raise_field_errors(self.errors(Write(instance, {}, values)))
        self.complete(instance)

    def fill(self, instance: ModelT, values: Values) -> None:
        """Set columns of an object to values that broke no rule."""
        for name, attname in columns(self.model).items():
            if name in values:
                value = values[name]
                setattr(instance, attname, value if name == attname else value or None)
        self.complete(instance)

    def stored(self, instance: ModelT) -> Row:
        """Return the values of a stored object."""
        listed = {x: member_keys(link, instance) for x, link in self._lists.items()}
        return {**column_values(instance), **listed}

    def save_lists(self, write: Write[ModelT]) -> None:
        """Write what the object lists, once it is saved."""
        for name, link in self._lists.items():
            before = write.before.get(name, [])
            set_members(link, write.instance, write.values[name], before=before)

    @property
    def _lists(self) -> Mapping[str, type[OrderedLink]]:
        return lists(self.model)

    def blank(self, instance: ModelT) -> Row:
        """Return the values of an object that nothing was said of."""
        return {**column_values(instance), **{name: [] for name in self._lists}}

    def _folded(self, values: Values) -> Row:
        """Return the values with what a list repeats in its first place alone."""
        once = {name: list(dict.fromkeys(values[name])) for name in self._lists}
        return {**values, **once}

    def _write(self, write: Write[ModelT]) -> None:
        raise_field_errors(self.errors(write))
        if write.values == write.before:
            return
        self.fill(write.instance, write.values)
        write.instance.save(force_insert=write.is_new)
        self.save_lists(write)
