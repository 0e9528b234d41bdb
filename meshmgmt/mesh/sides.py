"""Sets of the peers of one mesh, as bits: joined and counted without listing them."""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import compress
from operator import or_
from typing import Final, NamedTuple, TypeVar

Thing = TypeVar("Thing")

NOBODY: Final[frozenset[str]] = frozenset()
MOST_PARTS: Final = 8
"""Above it, keeping sides apart takes longer than making their parts anew."""
_FEW: Final = 16
"""Up to so many bits, finding each is faster than writing all places out."""
_TRUTHS: Final = bytes.maketrans(b"01", b"\0\1")


class Roster:
    """The peers that count, in the order of their ids; each has a bit of its own."""

    def __init__(self, ids: Iterable[str]) -> None:
        self.ids = tuple(sorted(ids))
        self._places = {id_: place for place, id_ in enumerate(self.ids)}

    def mask(self, ids: Iterable[str]) -> int:
        """The bits of the peers; those that do not count have none."""
        # In bytes: setting bits of a long integer copies it for each.
        bits = bytearray(len(self.ids) // 8 + 1)
        for id_ in ids:
            place = self._places.get(id_)
            if place is not None:
                bits[place >> 3] |= 1 << (place & 7)
        return int.from_bytes(bits, "little")

    def bit(self, peer_id: str | None) -> int:
        """The bit of one peer, 0 for one that does not count."""
        place = self._places.get(peer_id or "")
        return 0 if place is None else 1 << place

    def listed(self, mask: int) -> tuple[str, ...]:
        """The ids behind bits, in order."""
        if mask.bit_count() > _FEW:
            return tuple(chosen(self.ids, mask))
        return tuple([self.ids[place] for place in _places_of(mask)])


def chosen(things: Iterable[Thing], mask: int) -> Iterator[Thing]:
    """Those of the things, one for each place of a roster, whose bit is set."""
    # Binary digits as truth values, lowest first: no loop in Python.
    return compress(things, f"{mask:b}"[::-1].encode().translate(_TRUTHS))


def _places_of(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class Side:
    """Peers on one side of a rule.

    A `shared` one lives as long as its mesh and appears in the maps of many peers.
    """

    __slots__ = ("_ids", "_ordered", "mask", "roster", "shared")

    def __init__(self, roster: Roster, mask: int, *, shared: bool = False) -> None:
        self.roster = roster
        self.mask = mask
        self.shared = shared
        self._ids: frozenset[str] | None = None
        self._ordered: tuple[str, ...] | None = None

    @property
    def ordered(self) -> tuple[str, ...]:
        """Their ids in order."""
        if self._ordered is None:
            self._ordered = self.roster.listed(self.mask)
        return self._ordered

    @property
    def ids(self) -> frozenset[str]:
        """Their ids."""
        if self._ids is None:
            self._ids = frozenset(self.ordered)
        return self._ids


class Part(NamedTuple):
    """The peers of a side that are in no earlier part."""

    side: Side
    without: frozenset[str] = NOBODY


class Union:
    """Peers of several sides, each once, kept apart so that parts can be shared."""

    __slots__ = ("mask", "parts", "roster")

    def __init__(
        self, roster: Roster, sides: Iterable[Side], *, without: str = ""
    ) -> None:
        """Join the peers of all the sides but the peer `without`."""
        self.roster = roster
        own = roster.bit(without)
        distinct = {id(side): side for side in sides if side.mask}
        if len(distinct) > MOST_PARTS:
            self.mask = reduce(or_, (s.mask for s in distinct.values()), own) ^ own
            self.parts = [Part(Side(roster, self.mask))] if self.mask else []
            return
        self.parts = []
        seen = own
        for side in distinct.values():
            if side.mask & ~seen:
                self.parts.append(Part(side, _set(roster, side.mask & seen)))
                seen |= side.mask
        self.mask = seen ^ own

    def __bool__(self) -> bool:
        return bool(self.mask)

    def __iter__(self) -> Iterator[str]:
        """Their ids in order, each once."""
        return iter(self.roster.listed(self.mask))

    def __len__(self) -> int:
        return self.mask.bit_count()

    @property
    def ids(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self)

    def has(self, peer_id: str) -> bool:
        """Tell whether a peer is among them."""
        return bool(self.mask & self.roster.bit(peer_id))


def _set(roster: Roster, mask: int) -> frozenset[str]:
    return frozenset(roster.listed(mask)) if mask else NOBODY


NONE: Final = Union(Roster(()), ())
