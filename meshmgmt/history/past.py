"""The account as it was: what was done since is taken back in the tables that are asked.

A statement that names a table first has a copy put in its place, for one transaction which
is rolled back; there each row and each list is brought back to what the first event after
the moment says of it, without rules and signals. Whatever reads in between needs to know
nothing, and nobody waits.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache, cached_property
from typing import Any, Final

from django.db import connection, transaction

from events.activities import Activity
from events.audit.histories import (
    firsts_after,
    member_events,
    members_prefix,
    owner_of,
    read_member,
    tells_lists,
)
from events.audit.reading import last_id_at
from events.models import AuditEvent
from meshmgmt.access.models import Invite, SetupKey
from meshmgmt.core import clock
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.orderedlinks import OrderedLink, all_links
from meshmgmt.core.queries import batches
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.history.kinds import KINDS
from meshmgmt.history.lists import READ, list_changes
from meshmgmt.history.pasttables import PastTables, Table, Told
from meshmgmt.inventory.models import Peer

MOST: Final = 300_000
"""So many events are read for one table; more would keep the database busy."""

_WORD: Final = re.compile(r"\w+")
_INTRICATE: Final = re.compile(r" (OR|NOT|UNION|EXCEPT|LEFT)\b|WITH |SELECT.*SELECT ")
"""What may make a statement read other rows than one condition names."""


@contextmanager
def account_at(moment: datetime) -> Iterator[None]:
    """Let a block of reads see the account as it was; see `core.history`."""
    if moment > clock.now():
        raise InvalidArgument("at: this moment is still to come")
    with read_snapshot(temporary=True):
        last = last_id_at(moment)
        if last is None:
            raise InvalidArgument(
                "at: the audit trail does not reach back to this moment"
            )
        with account_after(last):
            yield


@contextmanager
def account_after(event_id: int) -> Iterator[None]:
    """Let a block of reads see the account as it was when that event was the newest.

    What a statement names is taken back then; InvalidArgument is raised when too much of
    it was changed since.
    """
    with read_snapshot(temporary=True), transaction.atomic():
        with connection.execute_wrapper(_Past(event_id)):
            yield
        transaction.set_rollback(True)


@cache
def _tables() -> dict[str, Table]:
    """Return what answers with a history are made of; none of them shows a secret."""
    kinds = [model for model in KINDS if model not in (SetupKey, Invite)]
    links = [link for link in all_links() if owner_of(link) in kinds]
    return {model._meta.db_table: model for model in (*kinds, *links)}


class _Past:
    """Stands before each statement, as Django's `execute_wrapper` asks."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._tables = PastTables()
        self._shown: set[Table] = set()
        """Tables that are shown whole, or are being shown."""
        self._owners: defaultdict[Table, set[str]] = defaultdict(set)
        """Whose lists are shown, of tables that are not shown whole."""
        self._known: dict[str, list[tuple[str, int]]] = {}

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, about: Any
    ) -> Any:
        """Bring back what a statement names, each table or list once."""
        for name in _tables().keys() & set(_WORD.findall(sql)):
            table = _tables()[name]
            if table in self._shown:
                continue
            self._shown.add(table)
            if not issubclass(table, OrderedLink):
                events = self._told_of_objects(table)
                self._tables.bring_objects_back(table, events)
            elif self._show_lists(table, _owners_asked(table, sql, params)):
                self._shown.remove(table)
        return execute(sql, params, many, about)

    def _show_lists(
        self, link: type[OrderedLink], owners: frozenset[str] | None
    ) -> bool:
        """Show the lists of owners, of all where it is None; return if some may be left."""
        known = self._owners[link]
        if owners is None or owners - known:
            told = self._told_of_lists(link, owners)
            new = [each for each in told if each[1] not in known]
            self._tables.bring_lists_back(link, new, self._last)
            known |= owners or set()
        return owners is not None

    def _told_of_objects(self, model: Table) -> list[AuditEvent]:
        """Return the first event of each history of the objects, newest first."""
        ids = [first for _, first in self._firsts(f"{model._meta.model_name}/")]
        if model is Peer:  # some events name a peer by the address that it had then
            moves = AuditEvent.objects.filter(
                activity_code=Activity.PEER_IP_UPDATE, id__gt=self._last
            )
            ids += moves.values_list("id", flat=True)[: MOST + 1]
        return self._newest_first(model, ids)

    def _told_of_lists(
        self, link: type[OrderedLink], owners: Collection[str] | None
    ) -> list[Told]:
        """Return what the first event about each member says, newest first."""
        told: list[Told] = []
        kind = f"{owner_of(link)._meta.model_name}/"
        if any(link is one for one, *_ in member_events().values()):
            for prefix in [members_prefix(link, owner) for owner in owners or [""]]:
                for key, first in self._firsts(prefix):
                    owner, member, came = read_member(link, key)
                    told.append((first, owner, {member: not came}, False))
        keys = [key for key, _ in self._firsts(kind) if tells_lists(key)]
        ids = AuditEvent.objects.filter(history_key__in=keys, id__gt=self._last)
        found = list(ids.order_by().values_list("id", flat=True)[: MOST + 1])
        for event in self._newest_first(owner_of(link), found):
            for (of, owner), change in list_changes(event):
                if of is link and (owners is None or owner in owners):
                    was = dict.fromkeys(change["added"], False)
                    was |= dict.fromkeys(change["removed"], True)
                    told.append((event.pk, owner, was, "order" in change))
        return sorted(told, key=lambda each: -each[0])

    def _firsts(self, prefix: str) -> list[tuple[str, int]]:
        if prefix not in self._known:
            self._known[prefix] = firsts_after(prefix, self._last, MOST + 1)
            _refuse_many(self._known[prefix])
        return self._known[prefix]

    @cached_property
    def _without_key(self) -> list[AuditEvent]:
        """What the version before wrote while this one was installed."""
        rows = AuditEvent.objects.filter(history_key=None, id__gt=self._last)
        found = list(rows.order_by().only(*READ)[: MOST + 1])
        _refuse_many(found)
        return found

    def _newest_first(self, model: Table, ids: Sequence[int]) -> list[AuditEvent]:
        _refuse_many(ids)
        told = {
            event.pk: event
            for part in batches(ids)
            for event in AuditEvent.objects.filter(id__in=part).order_by().only(*READ)
        }
        told |= {event.pk: event for event in self._without_key}
        return [told[pk] for pk in sorted(told, reverse=True)]


def _owners_asked(
    link: type[OrderedLink], sql: str, params: Any
) -> frozenset[str] | None:
    """Return whose lists alone a statement can read, None where that is not plain."""
    table = connection.ops.quote_name(link._meta.db_table)
    column = connection.ops.quote_name(f"{link.owner_field}_id")
    head, where, conditions = sql.partition(" WHERE ")
    found = re.search(rf"{table}\.{column} (= %s|IN \((%s, )*%s\))", conditions)
    if not found or f"FROM {table} " not in sql or _INTRICATE.search(sql):
        return None
    first = (head + where + conditions[: found.start()]).count("%s")
    return frozenset(map(str, params[first : first + found.group().count("%s")]))


def _refuse_many(found: Sequence[Any]) -> None:
    if len(found) > MOST:
        raise InvalidArgument(
            f"at: more than {MOST:,} things were changed between this moment and now,"
            " and no more are taken back for an answer"
        )
