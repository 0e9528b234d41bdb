"""Ordered membership: the rows between an owner and the things it lists.

A list that a client sends is kept in its order. There is one function that writes it, and
it reports what came and went through the `members_changed` signal.
"""

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from django.apps import apps
from django.db import models
from django.dispatch import Signal

from meshmgmt.core.queries import Prepared, batches, insert_rows
from meshmgmt.core.transactions import account_write

members_changed: Final = Signal()
"""Sent with `link`, `owner`, `added`, `removed`, `order`, `before` in the transaction.

`order` is the whole list, or None where dropping `removed` and appending `added` gives it;
`before` is what it was, None where that was not read.
"""

LinkT = TypeVar("LinkT", bound="OrderedLink")


class LinkQuerySet(models.QuerySet[LinkT]):
    """Refuses the operations that would change membership unseen."""

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(f"{self.model.__name__} is written by set_members() alone")

    update = bulk_create = bulk_update = _refuse


class OrderedLink(models.Model):
    """One entry of an ordered list of members.

    A subclass names its parts: `owner_field` (a foreign key), `member_fields` (columns
    that identify the member; one column gives plain keys, several give tuples) and
    `relation` (the list's name in the API and in the audit trail).
    """

    owner_field: ClassVar[str]
    member_fields: ClassVar[tuple[str, ...]]
    relation: ClassVar[str]

    id = models.BigAutoField(primary_key=True)
    position = models.PositiveIntegerField(default=0)

    objects = LinkQuerySet.as_manager()

    class Meta:
        abstract = True
        ordering = ["position", "id"]

    def __str__(self) -> str:
        owner = getattr(self, self.owner_field)
        return f"{self.relation.replace('_', ' ')} of {owner}"

    @property
    def member_key(self) -> Hashable:
        """The identity of the member within the list."""
        return _key(getattr(self, name) for name in self.member_fields)


def owner_key(owner: Any, lists: str) -> "models.ForeignKey[Any, Any]":
    """Return the foreign key to what has a list, which goes with it.

    `lists` is what its model calls the entries.
    """
    return models.ForeignKey(owner, on_delete=models.CASCADE, related_name=lists)


def listed_once(name: str, *fields: str) -> list[models.BaseConstraint]:
    """Return the constraints of lists that hold no member twice."""
    return [models.UniqueConstraint(fields=fields, name=name)]


def all_links() -> list[type[OrderedLink]]:
    """Return the models of all lists."""
    return [model for model in apps.get_models() if issubclass(model, OrderedLink)]


def _key(parts: Iterable[Any]) -> Hashable:
    values = tuple(parts)
    return values[0] if len(values) == 1 else values


def member_keys(link: type[OrderedLink], owner: models.Model) -> list[Any]:
    """Return the members of `owner` in order: keys, or tuples for several columns."""
    rows = link._default_manager.filter(**{link.owner_field: owner})
    return [
        _key(row)
        for row in rows.order_by("position", "id").values_list(*link.member_fields)
    ]


def ids_by_owner(
    link: type[OrderedLink], owner_ids: Sequence[str] | None = None
) -> dict[str, list[str]]:
    """Return the listed ids of each owner, in the order sent; None: of all owners."""
    found: dict[str, list[str]] = {}
    for owner_id, identifier in link_rows(link, owner_ids, link.member_fields[0]):
        found.setdefault(owner_id, []).append(identifier)
    return found


def link_rows(
    link: type[OrderedLink], owner_ids: Sequence[str] | None, *columns: str
) -> Any:
    """Return `(owner id, *columns)` of the entries of lists, each list in its order."""
    if owner_ids is not None and len(owner_ids) == 1:
        return _of_one(link, *columns).rows(owner_ids[0])
    links = link._default_manager.order_by("position", "id")
    rows = links.values_list(f"{link.owner_field}_id", *columns)
    if owner_ids is None:
        return rows
    owner = f"{link.owner_field}__in"
    return (row for part in batches(owner_ids) for row in rows.filter(**{owner: part}))


@cache
def _of_one(link: type[OrderedLink], *columns: str) -> Prepared:
    rows = link._default_manager.order_by("position", "id")
    owner = f"{link.owner_field}_id"
    return Prepared(
        lambda owner_id: rows.filter(**{owner: owner_id}).values_list(owner, *columns)
    )


def set_members(
    link: type[OrderedLink],
    owner: models.Model,
    members: Sequence[Any],
    *,
    new: bool = False,
    before: Sequence[Any] | None = None,
) -> None:
    """Make `members` (keys, repeats folded) the whole ordered list of `owner`.

    Rows that stay are kept unless their order changes. `new` says that the owner was
    just created, `before` is the list as the caller read it in this very write; both
    save the reading. Writes nothing when nothing changes.
    """
    # A part of some write, which fails with it: a savepoint is two statements more.
    with account_write(savepoint=False):
        if before is None:
            before = [] if new else member_keys(link, owner)
        after = list(dict.fromkeys(members))
        if list(before) == after:
            return
        known, wanted = set(before), set(after)
        removed = [key for key in before if key not in wanted]
        added = [key for key in after if key not in known]
        appended = [key for key in before if key in wanted] + added == after
        rows = link._default_manager.filter(**{link.owner_field: owner})
        if appended:
            _delete(rows, link, removed)
            _append(link, owner, added)
        else:
            # Raw, here and below: a signal for each row would tell what `_tell` says once.
            rows.order_by()._raw_delete(rows.db)
            _insert(link, owner, after, 0)
        order = None if appended else after
        _tell(link, owner, added, removed, order=order, before=list(before))


def append_members(
    link: type[OrderedLink], owner: models.Model, keys: Sequence[str]
) -> int:
    """Put members (of one column) at the end of a list, those it does not have yet.

    The rest of the list is not read, so the work does not grow with it. Returns how many
    came.
    """
    with account_write(savepoint=False):
        there = set(_listed_among(link, owner, keys))
        added = [key for key in dict.fromkeys(keys) if key not in there]
        if not added:
            return 0
        _append(link, owner, added)
        _tell(link, owner, added, [])
        return len(added)


def drop_members(
    link: type[OrderedLink], owner: models.Model, keys: Sequence[str]
) -> int:
    """Take members (of one column) out of a list, as far as it has them.

    The rest of the list is neither read nor written. Returns how many went.
    """
    with account_write(savepoint=False):
        removed = _listed_among(link, owner, keys)
        if not removed:
            return 0
        rows = link._default_manager.filter(**{link.owner_field: owner})
        _delete(rows, link, removed)
        _tell(link, owner, [], removed)
        return len(removed)


def _listed_among(
    link: type[OrderedLink], owner: models.Model, keys: Sequence[str]
) -> list[str]:
    """Return those of the keys that the list has, in the order of `keys`."""
    wanted = list(dict.fromkeys(keys))
    there = {
        key for part in batches(wanted) for (key,) in _among(link).plain(owner.pk, part)
    }
    return [key for key in wanted if key in there]


@cache
def _among(link: type[OrderedLink]) -> Prepared:
    """Members of the list of an owner, of those named."""
    rows, column = link._default_manager.order_by(), link.member_fields[0]
    return Prepared(
        lambda owner_id, keys: rows.filter(
            **{f"{link.owner_field}_id": owner_id, f"{column}__in": keys}
        ).values_list(column)
    )


@cache
def _last(link: type[OrderedLink]) -> Prepared:
    """The position of an owner's last entry, which was written last."""
    # The newest row stands last: a list in another order is written anew.
    rows = link._default_manager.order_by("-id")
    return Prepared(
        lambda owner_id: rows.filter(
            **{f"{link.owner_field}_id": owner_id}
        ).values_list("position")[:1]
    )


def remove_from_lists(
    link: type[OrderedLink], *related: str, **member: Any
) -> list[models.Model]:
    """Take a member out of every list of one kind; return the lists' owners.

    `member` filters on the member's columns (`group_id=...`, `peer_id__in=...`);
    `related` names relations to load with the owners. The number of queries does not
    depend on the number of lists; the remaining entries keep their order.
    """
    with account_write(savepoint=False):
        rows = list(
            link._default_manager.filter(**member)
            .select_related(
                link.owner_field, *(f"{link.owner_field}__{name}" for name in related)
            )
            .order_by("id")
        )
        if not rows:
            return []
        owners: dict[Any, models.Model] = {}
        gone: dict[Any, list[Any]] = {}
        for row in rows:
            owner = getattr(row, link.owner_field)
            owners.setdefault(owner.pk, owner)
            gone.setdefault(owner.pk, []).append(row.member_key)
        chosen = link._default_manager.filter(**member).order_by()
        chosen._raw_delete(chosen.db)
        for pk, owner in owners.items():
            _tell(link, owner, [], gone[pk])
        return list(owners.values())


def _tell(
    link: type[OrderedLink],
    owner: models.Model,
    added: list[Any],
    removed: list[Any],
    **orders: list[Any] | None,
) -> None:
    told = {"order": None, "before": None, **orders}
    members_changed.send(
        sender=link, link=link, owner=owner, added=added, removed=removed, **told
    )


def _delete(
    rows: models.QuerySet[Any], link: type[OrderedLink], keys: list[Any]
) -> None:
    for part in batches(keys):
        if len(link.member_fields) == 1:
            chosen = rows.filter(**{f"{link.member_fields[0]}__in": part})
        else:
            chosen = rows.filter(
                models.Q(
                    *(
                        models.Q(**dict(zip(link.member_fields, key, strict=True)))
                        for key in part
                    ),
                    _connector=models.Q.OR,
                )
            )
        chosen.order_by()._raw_delete(rows.db)


def _append(link: type[OrderedLink], owner: models.Model, keys: list[Any]) -> None:
    if keys:
        last = next((position for (position,) in _last(link).plain(owner.pk)), -1)
        _insert(link, owner, keys, last + 1)


def _insert(
    link: type[OrderedLink], owner: models.Model, keys: list[Any], start: int
) -> None:
    names = (link.owner_field, "position", *link.member_fields)
    rows = [
        (owner.pk, position, *_parts(link, key))
        for position, key in enumerate(keys, start)
    ]
    insert_rows(link, names, rows)


def _parts(link: type[OrderedLink], key: Any) -> tuple[Any, ...]:
    return (key,) if len(link.member_fields) == 1 else key
