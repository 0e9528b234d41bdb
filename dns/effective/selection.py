"""Which zones and nameserver groups peers with certain groups get.

Arranged for thousands of peers: what excludes an object for everybody is decided
once, and its `Excluded` is one object that all configurations share.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar

from dns.effective.result import EffectiveGroup, EffectiveZone, Excluded, Reason
from dns.effective.snapshot import NameserverGroup, Zone

Item = TypeVar("Item", bound=Zone | NameserverGroup)

_NO_SHARED_GROUP = Reason("no_shared_group")


class Selection(Generic[Item]):
    """Zones or nameserver groups of an account, indexed by the groups they are for."""

    def __init__(self, items: Sequence[Item]) -> None:
        self._items = items
        self._by_group: defaultdict[str, list[int]] = defaultdict(list)
        self._inside: list[Excluded | None] = []
        self._outside: list[Excluded] = []
        for number, item in enumerate(items):
            for group in item.groups:
                self._by_group[group].append(number)
            reasons = _fixed_reasons(item)
            self._inside.append(_excluded(item, reasons) if reasons else None)
            self._outside.append(_excluded(item, (*reasons, _NO_SHARED_GROUP)))

    def choose(
        self, groups: frozenset[str], general: Reason | None
    ) -> tuple[list[Item], list[Excluded]]:
        """What peers in `groups` get and what not, each in creation order.

        A `general` reason keeps everything out and stands first.
        """
        shared = self._shared(groups)
        out: list[Excluded | None] = [*self._outside]
        for number in shared:
            out[number] = self._inside[number]
        if general is not None:
            return [], [
                _excluded(item, (general,))
                if excluded is None
                else replace(excluded, reasons=(general, *excluded.reasons))
                for item, excluded in zip(self._items, out, strict=True)
            ]
        return self._given(shared), [*filter(None, out)]

    def chosen(self, groups: Iterable[str]) -> list[Item]:
        """What peers in `groups` get, in creation order."""
        return self._given(self._shared(groups))

    def _shared(self, groups: Iterable[str]) -> set[int]:
        """Numbers of the items for one of the groups."""
        shared: set[int] = set()
        for group in groups:
            if group in self._by_group:
                shared.update(self._by_group[group])
        return shared

    def _given(self, shared: set[int]) -> list[Item]:
        return [self._items[n] for n in sorted(shared) if self._inside[n] is None]


def effective_zone(zone: Zone, reason: Reason) -> EffectiveZone:
    return EffectiveZone(
        kind="zone",
        id=zone.id,
        name=zone.name,
        domain=zone.domain,
        search=zone.search,
        records=zone.records,
        reason=reason,
    )


def effective_group(group: NameserverGroup, reason: Reason) -> EffectiveGroup:
    return EffectiveGroup(
        id=group.id,
        name=group.name,
        primary=group.primary,
        domains=group.domains,
        search=group.search,
        nameservers=group.nameservers,
        reason=reason,
    )


def _fixed_reasons(item: Zone | NameserverGroup) -> tuple[Reason, ...]:
    """What keeps the object from every peer."""
    reasons = [] if item.enabled else [Reason("disabled")]
    if isinstance(item, Zone) and item.is_empty:
        reasons.append(Reason("empty_zone"))
    return tuple(reasons)


def _excluded(item: Zone | NameserverGroup, reasons: tuple[Reason, ...]) -> Excluded:
    if isinstance(item, Zone):
        return Excluded("zone", item.id, item.name, (item.domain,), reasons)
    return Excluded(
        kind="nameserver_group",
        id=item.id,
        name=item.name,
        domains=item.domains,
        reasons=reasons,
        primary=item.primary,
    )
