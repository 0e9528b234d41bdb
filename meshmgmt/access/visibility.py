"""What peers see of each other, given the members of groups; pure.

Thousands of peers see thousands of others each. So sets of peers are integers, a bit for
each thing that can be seen: they are joined and counted without listing them, and listed
only when somebody reads.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate, chain, compress, pairwise
from operator import or_
from typing import Any, Final, Generic, TypeVar

from meshmgmt.access.reach import Cause, ReachGraph, Side

Item = TypeVar("Item")
Members = Mapping[str, Collection[str]]

_TRUTHS: Final = bytes.maketrans(b"01", b"\0\1")


class Joined(Sequence[Item]):
    """A sequence of `length` items, which `make` gives when it is first read."""

    __slots__ = ("_items", "_length", "_make")

    def __init__(self, length: int, make: Callable[[], Iterable[Item]]) -> None:
        self._length = length
        self._make = make
        self._items: tuple[Item, ...] | None = None

    def _made(self) -> tuple[Item, ...]:
        if self._items is None:
            self._items = tuple(self._make())
        return self._items

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Item]:
        return iter(self._made())

    def __getitem__(self, index: Any) -> Any:
        return self._made()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._made() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._made())


class Visibility(Generic[Item]):
    """What peers see, when each peer shows some things (`shown`: peer id to things).

    Things are listed in the order of `shown`; a peer that is not in it shows nothing.
    """

    def __init__(
        self, graph: ReachGraph, members: Members, shown: Mapping[str, Sequence[Item]]
    ) -> None:
        self._graph = graph
        self._members = members
        self._things = [*chain.from_iterable(shown.values())]
        ends = [0, *accumulate(map(len, shown.values()))]
        self._places = dict(zip(shown, pairwise(ends), strict=True))
        self._by_group: dict[str, int] = {}
        self._by_side: dict[Side, int] = {}

    def seen_from(
        self, peer_id: str, groups: Iterable[str], *, first: Sequence[Item] = ()
    ) -> Joined[Item]:
        """What `peer_id`, a member of `groups`, sees of others, after what is `first`."""
        own = seen = self._bits((peer_id,))
        for target in self._graph.targets(peer_id, groups):
            seen |= self._of_side(target.side)
        others = seen ^ own
        return Joined(
            len(first) + others.bit_count(), lambda: chain(first, self._chosen(others))
        )

    def _of_side(self, side: Side) -> int:
        mask = self._by_side.get(side)
        if mask is None:
            masks = map(self._of_group, side.groups)
            mask = self._by_side[side] = reduce(or_, masks, self._bits(side.peers))
        return mask

    def _of_group(self, group: str) -> int:
        mask = self._by_group.get(group)
        if mask is None:
            mask = self._by_group[group] = self._bits(self._members.get(group, ()))
        return mask

    def _bits(self, peer_ids: Iterable[str]) -> int:
        """The things that the peers show: as binary digits in the order of all."""
        digits = bytearray(b"0") * len(self._things)
        places = self._places
        for peer_id in peer_ids:
            if peer_id in places:
                start, end = places[peer_id]
                digits[start:end] = b"1" * (end - start)
        return int(digits or b"0", 2)

    def _chosen(self, mask: int) -> Iterator[Item]:
        digits = f"{mask:0{len(self._things)}b}".encode().translate(_TRUTHS)
        return compress(self._things, digits)


def causes(
    graph: ReachGraph, members: Members, peer_id: str, groups: Iterable[str]
) -> dict[str, Cause]:
    """What lets a peer see each other peer: the first in the order of the facts."""
    found: dict[str, Cause] = {}
    done: set[str] = set()
    for cause, side in graph.targets(peer_id, groups):
        new = (members.get(group, ()) for group in side.groups - done)
        for other in chain(side.peers, *new):
            found.setdefault(other, cause)
        done |= side.groups
    found.pop(peer_id, None)
    return found
