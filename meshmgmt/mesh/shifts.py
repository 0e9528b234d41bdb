"""Pairs of groups whose reach differs between two states of an account: by rules.

Peers, and what is routed, are bits: a pair of groups costs what rules are about it,
however many peers they hold.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from typing import Final, NamedTuple

from meshmgmt.mesh.between import overlaps, rows
from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.firewall import with_ssh_port
from meshmgmt.mesh.graph import named, subject_with
from meshmgmt.mesh.policies import RuleInForce
from meshmgmt.mesh.reach.traffic import (
    Slice,
    Traffic,
    described,
    matching,
    opened,
    slices,
)
from meshmgmt.mesh.reasons import Subject
from meshmgmt.mesh.sides import Roster, Side

MOST: Final = 100
MOST_WORK: Final = 2_000
"""So many rules are applied; then no further pair is begun, however many are left."""
_EVERYTHING: Final = Traffic()


class Shift(NamedTuple):
    """What members of one end may begin with members of another, that they could not.

    Or could, and may no more; traffic in words, "" for none. The numbers are of pairs
    of members, the most for any of the traffic; `text` says all of it in a clause.
    """

    source: Subject
    destination: Subject
    gained: str
    gained_pairs: int
    lost: str
    lost_pairs: int
    text: str = ""


class Shifts(NamedTuple):
    """Pairs of ends whose reach differs; of `left_out` more it was not looked at."""

    pairs: tuple[Shift, ...]
    left_out: int = 0


def shifts(before: Mesh, after: Mesh, most: int = MOST) -> Shifts:
    """Compare what rules in force let groups, peers and resources begin."""
    if before is after:
        return Shifts(())
    bits = _Bits(before, after)
    old, new = _State(before, bits), _State(after, bits)
    touched = old.differing(new) | new.differing(old)
    pairs = sorted({pair for state in (old, new) for pair in state.pairs(touched)})
    found: list[Shift] = []
    for pair in pairs[:most]:
        if old.work + new.work > MOST_WORK:
            break
        found.append(_shift(old, new, pair, touched))
    told = tuple(shift for shift in found if shift.gained or shift.lost)
    return Shifts(told, len(pairs) - len(found))


class _Bits:
    """One roster for both states; what is routed has bits beyond those of peers."""

    def __init__(self, *meshes: Mesh) -> None:
        ids = {id_ for mesh in meshes for id_ in mesh.membership.roster.ids}
        self.roster = Roster(ids)
        first = len(ids)
        things = sorted({id_ for mesh in meshes for id_ in _routed(mesh)})
        self._things = {id_: 1 << (first + n) for n, id_ in enumerate(things)}

    def peers(self, mesh: Mesh, mask: int) -> int:
        roster = mesh.membership.roster
        if roster.ids == self.roster.ids:
            return mask
        return self.roster.mask(roster.listed(mask))

    def things(self, ids: Iterable[str]) -> int:
        # A set: what is behind two names counts once.
        return sum({self._things[id_] for id_ in ids})


class _State:
    def __init__(self, mesh: Mesh, bits: _Bits) -> None:
        self.work = 0
        self._mesh = mesh
        self._bits = bits
        self._behind: defaultdict[str, set[str]] = defaultdict(set)
        for id_, names in _routed(mesh).items():
            for name in names:
                self._behind[name].add(id_)
        self.rules = dict(chain.from_iterable(map(self._parts, mesh.policies.rules)))
        self.filters = {id_: opened(each.rule) for id_, each in self.rules.items()}

    def differing(self, other: "_State") -> set[str]:
        """The rules that do something else in the other state, or are not in it."""
        return {
            id_
            for id_, each in self.rules.items()
            if id_ not in other.rules or _does(each) != _does(other.rules[id_])
        }

    def pairs(self, touched: Iterable[str]) -> Iterator[tuple[str, str]]:
        for id_ in touched:
            if each := self.rules.get(id_):
                sides = named(each.rule.sources), named(each.rule.destinations)
                yield from product(*sides)
                if each.rule.bidirectional:
                    yield from product(*reversed(sides))

    def members(self, id_: str, *, routed: bool) -> int:
        """The peers of a group, or the one peer, and what is behind it, if `routed`."""
        mesh, single = self._mesh, id_ in self._mesh.snapshot.peers
        groups = frozenset(() if single else {id_})
        side = mesh.membership.side(groups, id_ if single else None)
        behind = self._bits.things(self._behind[id_]) if routed else 0
        return self._bits.peers(mesh, side.mask) | behind

    def subject(self, id_: str) -> Subject | None:
        return subject_with(self._mesh.snapshot, id_)

    def about(self, source: int, target: int) -> list[str]:
        rules = self.rules.items()
        return [id_ for id_, each in rules if overlaps(each, source, target)]

    def matching(self, ids: Iterable[str], cut: list[Slice]) -> list[tuple[str, ...]]:
        return matching(cut, {id_: self.filters[id_] for id_ in ids})

    def reached(
        self, source: int, target: int, several: Sequence[Sequence[str]]
    ) -> Iterator[list[tuple[int, int]]]:
        # Counted, not timed: the same account gives the same answer anywhere.
        self.work += sum(map(len, several))
        lists = [[self.rules[id_] for id_ in ids] for ids in several]
        return rows(source, target, lists)

    def _parts(self, entry: RuleInForce) -> Iterator[tuple[str, RuleInForce]]:
        """Yield a rule, in two where it opens other ports on peers than behind them."""
        id_, rule = entry.rule.id, entry.rule
        sources = self._bits.peers(self._mesh, entry.sources.mask)
        peers = self._bits.peers(self._mesh, entry.destinations.mask)
        names = named(rule.destinations)
        behind = set[str]().union(*(self._behind[name] for name in names))
        things, routed = self._bits.things(behind), with_ssh_port(rule)
        alike = [(id_, rule, peers | things)]
        apart = [(id_, rule, peers), (f"{id_}/routed", routed, things)]
        for key, part, targets in alike if routed is rule else apart:
            one, other = (Side(self._bits.roster, mask) for mask in (sources, targets))
            yield key, entry._replace(rule=part, sources=one, destinations=other)


def _shift(old: _State, new: _State, pair: tuple[str, str], touched: set[str]) -> Shift:
    source, target = (
        old.members(id_, routed=routed) | new.members(id_, routed=routed)
        for id_, routed in zip(pair, (False, True), strict=True)
    )
    told = [(state, state.about(source, target)) for state in (old, new)]
    about = [f for state, ids in told for id_ in ids for f in state.filters[id_]]
    alike: defaultdict[tuple[tuple[str, ...], ...], list[Slice]] = defaultdict(list)
    cut = list(slices(_EVERYTHING, about))
    keys = zip(*(state.matching(ids, cut) for state, ids in told), strict=True)
    for packets, key in zip(cut, keys, strict=True):
        if not touched.isdisjoint(key[0] + key[1]):
            alike[key].append(packets)
    gained, lost = _Tally(), _Tally()
    first, second = [key[0] for key in alike], [key[1] for key in alike]
    before = old.reached(source, target, first)
    after = new.reached(source, target, second)
    for packets_alike, was, is_ in zip(alike.values(), before, after, strict=True):
        gained.add(_more(was, is_), packets_alike)
        lost.add(_more(is_, was), packets_alike)
    ends = (old.subject(id_) or new.subject(id_) for id_ in pair)
    one, other = (
        end or Subject("group", id_, id_) for end, id_ in zip(ends, pair, strict=True)
    )
    found = Shift(one, other, gained.words, gained.most, lost.words, lost.most)
    return found._replace(text="; ".join(_clauses(found)))


def _clauses(shift: Shift) -> Iterator[str]:
    source, target = shift.source.name, shift.destination.name
    for may, traffic, pairs in (
        ("may begin", shift.gained, shift.gained_pairs),
        ("may no longer begin", shift.lost, shift.lost_pairs),
    ):
        if traffic:
            number = f"{pairs} pair{'' if pairs == 1 else 's'}"
            yield f"{source} {may} {traffic} with {target} ({number})"


class _Tally:
    def __init__(self) -> None:
        self.most = 0
        self._packets: list[Slice] = []

    def add(self, count: int, packets: list[Slice]) -> None:
        if count:
            self.most = max(self.most, count)
            self._packets += packets

    @property
    def words(self) -> str:
        return described(_EVERYTHING, self._packets)


def _more(these: list[tuple[int, int]], those: list[tuple[int, int]]) -> int:
    """How many pairs are in those rows and not in these; nobody is one with itself."""
    found = 0
    for one, had in these:
        for other, has in those:
            if (members := one & other) and (new := has & ~had):
                pairs = members.bit_count() * new.bit_count()
                found += pairs - (members & new).bit_count()
    return found


def _does(entry: RuleInForce) -> tuple[object, ...]:
    return entry.rule, entry.sources.mask, entry.destinations.mask


def _routed(mesh: Mesh) -> dict[str, set[str]]:
    """Resources and routes that are enabled, with what rules may call them."""
    found = {r.id: {r.id, *r.groups} for r in mesh.snapshot.resources if r.enabled}
    return found | {
        r.id: set(r.access_groups) for r in mesh.snapshot.routes if r.enabled
    }
