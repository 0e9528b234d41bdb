"""The account as it was: what was done since is taken back in the tables that are asked.

A statement that names a table first has a copy put in its place, for one transaction which
is rolled back; there each row and each list is brought back to what the first event after
the moment says of it, without rules and signals. Whatever reads in between needs to know
nothing, and nobody waits.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from contextlib import contextmanager
from datetime import datetime
from functools import cache, cached_property
from itertools import chain
from operator import attrgetter
from typing import Any, Final

from django.db import connection, transaction

from events.activities import Activity
from events.audit.histories import (
    ToldEvent,
    events_by_id,
    firsts_after,
    ids_of,
    prefixes,
)
from events.audit.reading import last_id_at
from events.audit.specs import has_member_events, owner_of, read_member, tells_lists
from events.models import AuditEvent
from meshmgmt.core import clock
from meshmgmt.core.collector import nothing_to_collect
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.orderedlinks import OrderedLink, all_links
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.history.kinds import KINDS
from meshmgmt.history.lists import MOST, list_changes, prefixes_of_lists
from meshmgmt.history.pasttables import PastTables, Table, Told
from meshmgmt.inventory.models import Peer

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
    # Inside of a snapshot that the caller began, what is rolled back is this part alone.
    with read_snapshot(temporary=True), transaction.atomic():
        with connection.execute_wrapper(_Past(event_id)):
            yield
        transaction.set_rollback(True)


@cache
def _tables() -> dict[str, Table]:
    """Return what answers with a history are made of; secrets in it stay as they are."""
    links = [link for link in all_links() if owner_of(link) in KINDS]
    return {model._meta.db_table: model for model in (*KINDS, *links)}


class _Past:
    """Stands before each statement, as Django's `execute_wrapper` asks."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._tables = PastTables()
        self._at_work = False
        self._shown: set[Table] = set()
        """Tables that are shown whole."""
        self._owners: defaultdict[Table, set[str]] = defaultdict(set)
        """Whose lists are shown, of tables that are not shown whole."""
        self._known: dict[str, list[tuple[str, int]]] = {}

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, about: Any
    ) -> Any:
        """Bring back what a statement names, each table or list once."""
        # What brings a table back names it too, and is meant for what stands there.
        if not self._at_work:
            self._at_work = True
            try:
                for name in _tables().keys() & set(_WORD.findall(sql)):
                    if _tables()[name] not in self._shown:
                        with nothing_to_collect():
                            self._show(_tables()[name], sql, params)
            finally:
                self._at_work = False
        return execute(sql, params, many, about)

    def _show(self, table: Table, sql: str, params: Any) -> None:
        if issubclass(table, OrderedLink):
            owners = _owners_asked(table, sql, params)
            self._show_lists(table, owners)
            if owners is not None:
                return
        else:
            events = self._told_of_objects(table)
            self._tables.bring_objects_back(table, events)
        self._shown.add(table)

    def _show_lists(self, link: type[OrderedLink], owners: Set[str] | None) -> None:
        """Show the lists of owners that are not shown yet, of all where it is None."""
        known = self._owners[link]
        if owners is None or owners - known:
            told = self._told_of_lists(link, owners, known)
            self._tables.bring_lists_back(link, told, self._last)
            known |= owners or set()

    def _told_of_objects(self, model: Table) -> list[ToldEvent]:
        """Return the first event of each history of the objects, newest first."""
        firsts = self._firsts(f"{model._meta.model_name}/")
        ids = {first for _, first in firsts}
        if model is Peer:
            moves = AuditEvent.objects.filter(
                activity_code=Activity.PEER_IP_UPDATE, id__gt=self._last
            )
            if moved := moves.values_list("id", flat=True)[: MOST + 1]:
                # Some events name a peer by the address that it had then, which another
                # had later: the first of such a history tells of one of them alone.
                by_address = [key for key, _ in firsts if "." in key]
                ids |= {*moved, *self._all_of(by_address)}
        return self._newest_first(ids)

    def _told_of_lists(
        self, link: type[OrderedLink], owners: Set[str] | None, but: Set[str]
    ) -> Told:
        """Return what the first event about each member says, of owners that are asked."""
        told = Told()
        if has_member_events(link):
            for prefix in prefixes(link, owners):
                for key, first in self._firsts(prefix):
                    owner, member, came = read_member(link, key)
                    told.note(first, owner, member, stood=not came)
        for event in self._of_whole_lists(link, owners):
            for (of, owner), change in list_changes(event):
                if of is link:
                    told.note_list(event.pk, owner, change)
        return told.among(told.members.keys() - but if owners is None else owners - but)

    def _of_whole_lists(
        self, link: type[OrderedLink], owners: Set[str] | None
    ) -> list[ToldEvent]:
        begin = prefixes_of_lists(owner_of(link), owners)
        firsts = chain.from_iterable(map(self._firsts, begin))
        keys = [key for key, _ in firsts if tells_lists(key)]
        # All of them, not the first of each key: each tells of other members.
        return self._newest_first(self._all_of(keys))

    def _all_of(self, keys: list[str]) -> set[int]:
        return ids_of(keys, MOST + 1, id__gt=self._last)

    def _firsts(self, prefix: str) -> list[tuple[str, int]]:
        if prefix not in self._known:
            self._known[prefix] = firsts_after(prefix, self._last, MOST + 1)
            _refuse_many(self._known[prefix])
        return self._known[prefix]

    @cached_property
    def _without_key(self) -> list[int]:
        """What the version before wrote while this one was installed."""
        rows = AuditEvent.objects.filter(history_key=None, id__gt=self._last)
        return list(rows.order_by().values_list("id", flat=True)[: MOST + 1])

    def _newest_first(self, ids: Iterable[int]) -> list[ToldEvent]:
        wanted = {*ids, *self._without_key}
        _refuse_many(wanted)
        return sorted(events_by_id(wanted), reverse=True, key=attrgetter("pk"))


def _owners_asked(
    link: type[OrderedLink], sql: str, params: Any
) -> frozenset[str] | None:
    """Return whose lists alone a statement can read, None where that is not plain."""
    table = connection.ops.quote_name(link._meta.db_table)
    column = connection.ops.quote_name(f"{link.owner_field}_id")
    head, where, conditions = sql.partition(" WHERE ")
    found = re.search(rf"{table}\.{column} (= %s|IN \((%s, )*%s\))", conditions)
    # Too much brought back is only slow, too little is wrong: what is not plain is all.
    if not found or f"FROM {table} " not in sql or _INTRICATE.search(sql):
        return None
    # Parameters stand in the order of their marks, so those before tell where these are.
    first = (head + where + conditions[: found.start()]).count("%s")
    return frozenset(map(str, params[first : first + found.group().count("%s")]))


def _refuse_many(found: Collection[Any]) -> None:
    if len(found) > MOST:
        raise InvalidArgument(
            f"at: more than {MOST:,} things were changed between this moment and now,"
            " and no more are taken back for an answer"
        )
