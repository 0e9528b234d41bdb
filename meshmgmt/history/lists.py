"""What events of the audit trail tell of ordered lists, and the order they left them in."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any, Final

from django.db import models

from dns.models import DnsSettings
from dns.models.settings import SINGLE_ROW
from events.audit.histories import (
    ONE_BY_ONE,
    ToldEvent,
    events_by_id,
    has_member_events,
    lasts_before,
    member_events,
    owner_of,
    prefixes,
    read_member,
    tells_lists,
)
from events.models import AuditEvent
from meshmgmt.core.orderedlinks import OrderedLink, all_links

_LISTS_READ: Final = 5000
"""So many events that tell of whole lists are looked at for the order of some."""

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
def lists_of(model: type[models.Model]) -> list[type[OrderedLink]]:
    """Return the ordered lists of a model."""
    return [link for link in all_links() if owner_of(link) is model]


@cache
def _lists_by_kind() -> dict[str, list[type[OrderedLink]]]:
    owners = {owner_of(link) for link in all_links()}
    return {owner._meta.model_name or "": lists_of(owner) for owner in owners}


def owner_id(event: AuditEvent | ToldEvent) -> str:
    """Return the key of the object of an event; of DNS settings it names the account."""
    settings = event.target_type == DnsSettings._meta.model_name
    return str(SINGLE_ROW) if settings else event.target_id


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
    for link in _lists_by_kind().get(event.target_type, ()):
        if link.relation in event.changes:
            told = event.changes[link.relation]
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


def orders_before(
    event_id: int, lists: Collection[Listing]
) -> dict[Listing, list[Any]]:
    """Return members of lists in the order that the events before one left them in.

    Of each member its last coming and its last going are enough.
    Of events that tell of whole lists the newest are read; of what was before them, and
    before the trail, nothing is known.
    """
    found: dict[Listing, list[Any]] = {}
    for link in {link for link, _ in lists}:
        owners = [owner for of, owner in lists if of is link]
        steps: dict[str, list[tuple[int, Any]]] = {owner: [] for owner in owners}
        for owner, *step in chain(
            _of_members(link, owners, event_id), _of_lists(link, owners, event_id)
        ):
            if owner in steps:
                steps[owner].append(tuple(step))
        for owner, told in steps.items():
            found[link, owner] = _left_by(told)
    return found


def _left_by(steps: list[tuple[int, Any]]) -> list[Any]:
    """Return what is left by members that came or went, and changes of a whole list."""
    steps.sort(key=itemgetter(0))
    members: dict[Any, None] = {}
    for _, step in steps:
        if isinstance(step, dict):
            move(members, step)
        elif step[1]:
            # With a new order it came in that order, which the event before this one told.
            members.setdefault(step[0])
        else:
            members.pop(step[0], None)
    return list(members)


_Step = tuple[str, int, Any]
"""Owner of a list, event, and a member with whether it came, or a change of the list."""


def _of_members(
    link: type[OrderedLink], owners: Sequence[str], event_id: int
) -> Iterator[_Step]:
    if has_member_events(link):
        for prefix in prefixes(link, owners):
            for key, last in lasts_before(prefix, event_id):
                owner, member, came = read_member(link, key)
                yield owner, last, (member, came)


def sorted_before(
    link: type[OrderedLink], owners: Sequence[str], event_id: int
) -> set[str]:
    """Return whose lists, of the owners', were put in an order before an event.

    In others members stand in the order in which they came.
    """
    told = _of_lists(link, owners, event_id)
    return {owner for owner, _, change in told if "order" in change} & {*owners}


def _of_lists(
    link: type[OrderedLink], owners: Sequence[str], event_id: int
) -> Iterator[_Step]:
    kind = owner_of(link)._meta.model_name
    # Events of the DNS settings are about the account, whose id is not their owner's.
    alone = len(owners) <= ONE_BY_ONE and owner_of(link) is not DnsSettings
    prefixes = [f"{kind}/{owner}/" for owner in owners] if alone else [f"{kind}/"]
    keys = [
        key
        for prefix in prefixes
        for key, _ in lasts_before(prefix, event_id)
        if tells_lists(key)
    ]
    of_keys = models.Q(history_key__in=keys) | models.Q(history_key=None)
    told = AuditEvent.objects.filter(of_keys, id__lt=event_id).order_by("-id")
    ids = told.values_list("id", flat=True)[:_LISTS_READ]
    for event in events_by_id(ids):
        for (of, owner), change in list_changes(event):
            if of is link:
                yield owner, event.pk, change
