"""Serialized messages put together from serialized parts (Protocol Buffers encoding).

A repeated field is the concatenation of its elements, and the order of fields in a
message is free: whatever is equal for many messages is made once. Parts about many
peers are joined once for all maps that hold the same peers.
"""

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate
from typing import Final, NamedTuple

from google.protobuf.message import Message

from meshmgmt.mesh.sides import Side, Union

_LENGTH_DELIMITED: Final = 2
_VARINT: Final = 0


def varint(number: int) -> bytes:
    """An unsigned number in groups of seven bits, lowest first."""
    groups = bytearray()
    while number > 0x7F:  # noqa: PLR2004 - seven bits
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


# Nearly all parts are short, and each has its length written.
_SHORT: Final = [varint(number) for number in range(1024)]


class Field:
    """A field that holds bytes, a text or a message; called with its content."""

    def __init__(self, message: type[Message], name: str) -> None:
        number = message.DESCRIPTOR.fields_by_name[name].number
        self._tag = varint(number << 3 | _LENGTH_DELIMITED)

    def __call__(self, content: bytes) -> bytes:
        return self.header(len(content)) + content

    def header(self, length: int) -> bytes:
        """What stands before `length` bytes of content."""
        return self._tag + (_SHORT[length] if length < len(_SHORT) else varint(length))


@lru_cache(maxsize=1024)
def number(message: type[Message], name: str, value: int) -> bytes:
    """A field that holds a number or a boolean; nothing for 0, the default."""
    if not value:
        return b""
    tag = message.DESCRIPTOR.fields_by_name[name].number << 3 | _VARINT
    return varint(tag) + varint(value)


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
