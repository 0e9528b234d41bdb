"""What events of the audit trail tell of ordered lists, and the order they left them in."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from django.db.models import Model

from dns.models import SINGLE_ROW, DnsSettings
from events.audit.histories import (
    ToldEvent,
    events_by_id,
    ids_of,
    lasts_before,
    lasts_of,
    prefixes,
)
from events.audit.specs import (
    CAME,
    WENT,
    has_member_events,
    member_events,
    member_key,
    owner_of,
    tells_lists,
)
from events.models import AuditEvent
from meshmgmt.core import resources
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.core.orderedlinks import OrderedLink, all_links, link_rows
from meshmgmt.core.queries import batches

LISTS_READ: Final = 5000
"""Events that tell of whole lists of one object, looked at for the order of these."""

MOST: Final = 300_000
"""So many events are read for one table; more would keep the database busy."""

Listing = tuple[type[OrderedLink], str]
"""A kind of list, and the id of its owner."""

Change = Mapping[str, list[Any]]


def arranged(members: Sequence[Any], order: Iterable[Any]) -> list[Any]:
    """Return members with those that `order` names in it, the others where they are."""
    # Whom the order does not name keeps its place: the trail may have begun after it came.
    there = set(members)
    named = [key for key in order if key in there]
    places, known = set(named), iter(named)
    return [next(known) if key in places else key for key in members]


@cache
def _lists_by_kind() -> dict[str, dict[str, type[OrderedLink]]]:
    owners = {owner_of(link) for link in all_links()}
    return {owner._meta.model_name or "": resources.lists(owner) for owner in owners}


def owner_id(event: AuditEvent | ToldEvent) -> str:
    """Return the key of the object of an event; of DNS settings it names the account."""
    settings = event.target_type == DnsSettings._meta.model_name
    return str(SINGLE_ROW) if settings else event.target_id


def prefixes_of_lists(kind: type[Model], owners: Collection[str] | None) -> list[str]:
    """Return what keys of events about whole lists of owners, None: of all, begin with."""
    # Those of the DNS settings are about the account, whose id is not their owner's.
    return prefixes(kind, None if kind is DnsSettings else owners)


def list_changes(
    event: AuditEvent | ToldEvent,
) -> Iterator[tuple[Listing, dict[str, list[Any]]]]:
    """Yield the lists that an event tells of, each with what was `added` and `removed`.

    Its whole `order` is there where these two do not give it.
    """
    if event.activity_code in member_events():
        link, rule, came = member_events()[event.activity_code]
        owner, member = rule.identify(event)
        there, gone = ([member], []) if came else ([], [member])
        yield (link, owner), {"added": there, "removed": gone}
        return
    for relation, link in _lists_by_kind().get(event.target_type, {}).items():
        if told := event.changes.get(relation):
            listed = {deed: [_key(key) for key in keys] for deed, keys in told.items()}
            yield (link, owner_id(event)), listed


def _key(member: Any) -> Any:
    return tuple(member) if isinstance(member, list) else member


def move(members: dict[Any, None], change: Change) -> None:
    """Make a list, the keys of `members`, what an event left of it."""
    for key in change["removed"]:
        members.pop(key, None)
    members |= dict.fromkeys(key for key in change["added"] if key not in members)
    if order := change.get("order"):
        members.clear()
        members |= dict.fromkeys(order)


def members_of(link: type[OrderedLink], owners: Iterable[str]) -> dict[str, list[Any]]:
    """Return the lists of owners; of one that is gone an empty list."""
    lists: dict[str, list[Any]] = {owner: [] for owner in owners}
    single = len(link.member_fields) == 1
    key_of: Any = owner_of(link)._meta.pk
    for part in batches([key_of.to_python(owner) for owner in lists]):
        for owner, *key in link_rows(link, part, *link.member_fields):
            lists[str(owner)].append(key[0] if single else tuple(key))
    return lists


_NEVER: Final = (1, 0)
"""The rank of who came before the trail began, or since."""

_Told = Sequence[tuple[int, Change]]
"""Events about one list as a whole, and what they tell of it."""


def orders_before(
    link: type[OrderedLink], lists: Mapping[str, Sequence[Any]], event_id: int
) -> dict[str, list[Any]]:
    """Return members of owners' lists in the order that the events before one left.

    Of lists whose members' comings have no events of their own, the newest events are
    read; of what was before these, nothing is known. Raises InvalidArgument where these
    are too many in all.
    """
    told: defaultdict[str, list[tuple[int, Change]]] = defaultdict(list)
    for owner, event, change in _of_lists(link, list(lists), event_id):
        told[owner].append((event, change))
    if has_member_events(link):
        return _by_coming(link, lists, told, event_id)
    return {owner: _left_by(told[owner]) for owner in lists}


def _by_coming(
    link: type[OrderedLink],
    lists: Mapping[str, Sequence[Any]],
    told: Mapping[str, _Told],
    event_id: int,
) -> dict[str, list[Any]]:
    """Return lists as they were sorted last, and behind that as members came since.

    Whom no event before that tells of is left out.
    """
    orders = {owner: _last_order(told.get(owner, ())) for owner in lists}
    key = partial(member_key, link)
    asked = {o: [key(o, each, CAME) for each in who] for o, who in lists.items()}
    went = [key(o, each, WENT) for o, (_, order) in orders.items() for each in order]
    last = lasts_of([*chain(*asked.values()), *went], event_id)
    for owner, changes in told.items():
        for event, change in changes:
            for sign, some in ((CAME, change["added"]), (WENT, change["removed"])):
                for name in (key(owner, each, sign) for each in some):
                    last[name] = max(last.get(name, 0), event)
    found = {}
    for owner, members in lists.items():
        since, order = orders[owner]
        # Who came with an order has its place there, though its event stands behind it.
        kept = [each for each in order if last[key(owner, each, WENT)] < since]
        places = {member: (0, place) for place, member in enumerate(kept)}
        ranks = [
            places.get(member) or (1, last[name])
            for member, name in zip(members, asked[owner], strict=True)
        ]
        ranked = sorted(zip(ranks, members, strict=True), key=itemgetter(0))
        found[owner] = [member for rank, member in ranked if rank != _NEVER]
    return found


def _last_order(told: _Told) -> tuple[int, list[Any]]:
    """Return the last event that sorted a list, and how; 0 and nothing without one."""
    orders = ((event, change["order"]) for event, change in told if "order" in change)
    return max(orders, default=(0, []), key=itemgetter(0))


def _left_by(steps: list[tuple[int, Change]]) -> list[Any]:
    """Return what is left by changes of a list."""
    members: dict[Any, None] = {}
    for _, change in sorted(steps, key=itemgetter(0)):
        move(members, change)
    return list(members)


def _of_lists(
    link: type[OrderedLink], owners: Sequence[str], event_id: int
) -> Iterator[tuple[str, int, Change]]:
    """Yield owner and event with what it tells of a whole list."""
    kind, asked = owner_of(link), {*owners}
    keys = [
        key
        for prefix in prefixes_of_lists(kind, asked)
        for key, _ in lasts_before(prefix, event_id)
        if tells_lists(key) and (kind is DnsSettings or key.split("/")[1] in asked)
    ]
    # What the version before wrote has no key.
    without = AuditEvent.objects.filter(history_key=None, id__lt=event_id)
    ids = {*without.order_by("-id").values_list("id", flat=True)[:LISTS_READ]}
    # One by one: lists that change often would leave nothing of the bound to others.
    for key in keys:
        ids |= ids_of([key], LISTS_READ, id__lt=event_id)
        if len(ids) > MOST:
            raise InvalidArgument(
                f"more than {MOST:,} events would be read for the order of lists"
            )
    for event in events_by_id(ids):
        for (of, owner), change in list_changes(event):
            if of is link:
                yield owner, event.pk, change
