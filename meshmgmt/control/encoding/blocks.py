"""Encoded parts about many peers, joined once for all maps that hold the same peers."""

from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from meshmgmt.mesh.sides import Side, Union


class _Block(NamedTuple):
    """Parts about every peer of a side, joined, and where each begins."""

    side: Side  # kept, so that its id() stays its own
    joined: bytes
    starts: list[int]

    def without(self, peer_ids: frozenset[str]) -> list[bytes]:
        """The block in pieces that leave out some of its peers."""
        pieces = []
        begin = 0
        for place in sorted(bisect_left(self.side.ordered, id_) for id_ in peer_ids):
            pieces.append(self.joined[begin : self.starts[place]])
            begin = self.starts[place + 1]
        return [*pieces, self.joined[begin:]]


class Blocks:
    """Parts about peers, one for each id."""

    def __init__(self, make: Callable[[str], bytes]) -> None:
        self._make = make
        self._blocks: dict[int, _Block] = {}

    def of(self, peers: Union) -> list[bytes]:
        """The parts about all these peers, in as few pieces as can be."""
        pieces: list[bytes] = []
        for side, without in peers.parts:
            # A side of this map alone: a block of it would serve nobody else.
            if not side.shared:
                pieces += [
                    self._make(id_) for id_ in side.ordered if id_ not in without
                ]
                continue
            block = self._blocks.get(id(side))
            if block is None:
                block = self._blocks[id(side)] = self._block(side)
            if without:
                pieces += block.without(without)
            else:
                pieces.append(block.joined)
        return pieces

    def _block(self, side: Side) -> _Block:
        parts = [self._make(id_) for id_ in side.ordered]
        starts = list(accumulate(map(len, parts), initial=0))
        return _Block(side, b"".join(parts), starts)
