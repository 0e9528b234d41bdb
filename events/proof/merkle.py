"""The stored tree: hashes in tiles, and proofs made of them (RFC 9162). No Django.

A tile holds up to 256 hashes side by side: of leaves at level 0, and at each level above of
the full tiles below. What is stored is never changed, only tiles at the right edge grow.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from events.proof.hashing import HASH_BYTES, inner_hash, root_of

HEIGHT: Final = 8
WIDTH: Final = 2**HEIGHT
_FULL: Final = WIDTH * HASH_BYTES

Load = Callable[[int, int], bytes]
"""Returns the hashes of the tile at a level and number."""


class Tree:
    """A tree of any size up to the stored one; `load` gives the tiles."""

    def __init__(self, size: int, load: Load) -> None:
        self.size = size
        self._load = load

    def leaf(self, index: int) -> bytes:
        return self._range(index, index + 1)

    def root(self) -> bytes:
        """Return the root of a tree that is not empty."""
        return self._range(0, self.size)

    def inclusion(self, index: int) -> list[bytes]:
        """Return the path that proves the leaf at `index` (section 2.1.3.1)."""
        return self._path(index, lambda low, high: high - low == 1)[2]

    def consistency(self, first: int) -> list[bytes]:
        """Return what proves that this goes on from its first leaves (section 2.1.4.1)."""
        low, high, path = self._path(first - 1, lambda _, high: high == first)
        return [self._range(low, high), *path] if low else path

    def _path(
        self, index: int, done: Callable[[int, int], bool]
    ) -> tuple[int, int, list[bytes]]:
        """Go down to a leaf; return where that ended, and what stands beside the way."""
        low, high, path = 0, self.size, []
        while not done(low, high):
            middle = low + _split(high - low)
            if index < middle:
                path.append(self._range(middle, high))
                high = middle
            else:
                path.append(self._range(low, middle))
                low = middle
        return low, high, path[::-1]

    def _range(self, low: int, high: int) -> bytes:
        """Return the root of the leaves from `low` to before `high`."""
        size = high - low
        if size & (size - 1) == 0:  # a power of two, so one stored subtree
            return self._complete(size.bit_length() - 1, low)
        middle = low + _split(size)
        return inner_hash(self._range(low, middle), self._range(middle, high))

    def _complete(self, height: int, low: int) -> bytes:
        """Return the root of the complete subtree of this height that begins at `low`."""
        # Tiles keep the hashes of every eighth height; those between are made anew.
        level, within = divmod(height, HEIGHT)
        number, place = divmod(low >> (level * HEIGHT), WIDTH)
        hashes = self._load(level, number)
        start = place * HASH_BYTES
        return root_of(hashes_of(hashes[start : start + (HASH_BYTES << within)]))


def extended(
    size: int, leaves: Sequence[bytes], load: Load
) -> Iterator[tuple[int, int, bytes]]:
    """Yield level, number and hashes of the tiles that change when leaves are added.

    `size` is that of the tree before.
    """
    level, fresh = 0, list(leaves)
    while fresh:
        number, kept = divmod(size >> (level * HEIGHT), WIDTH)
        hashes = (load(level, number) if kept else b"") + b"".join(fresh)
        fresh = []
        for start in range(0, len(hashes), _FULL):
            tile = hashes[start : start + _FULL]
            yield level, number, tile
            # Tiles above hold complete subtrees only: what they say never changes.
            if len(tile) == _FULL:
                fresh.append(root_of(hashes_of(tile)))
            number += 1
        level += 1


def hashes_of(tile: bytes) -> list[bytes]:
    return [
        tile[start : start + HASH_BYTES] for start in range(0, len(tile), HASH_BYTES)
    ]


def _split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1
