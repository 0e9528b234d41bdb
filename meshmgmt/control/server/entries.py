"""Counts the entries of a message's lists before it is decoded (Protocol Buffers encoding).

Decoding makes an object of each entry; tags and lengths tell how many there are without.
"""

from functools import cache
from typing import Any, Final, NamedTuple

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

FIELDS_PER_ENTRY: Final = 16
"""Walking over a field takes time too, whatever it is."""

_Descriptor = Any
"""Of a message; the C implementation has a class of its own."""

_VARINT: Final = 0
_FIXED64: Final = 1
_LENGTH_DELIMITED: Final = 2
_FIXED32: Final = 5
_SIZES: Final = {_FIXED64: 8, _FIXED32: 4}
_FIXED_TYPES: Final = {
    FieldDescriptor.TYPE_DOUBLE: 8,
    FieldDescriptor.TYPE_FIXED64: 8,
    FieldDescriptor.TYPE_SFIXED64: 8,
    FieldDescriptor.TYPE_FLOAT: 4,
    FieldDescriptor.TYPE_FIXED32: 4,
    FieldDescriptor.TYPE_SFIXED32: 4,
}
_LONGEST_VARINT: Final = 10
_GOES_ON: Final = bytes(range(0x80, 0x100))
"""Bytes of a number that others follow."""


class _Kind(NamedTuple):
    """What is known of a field; `packed` is whether its numbers may stand together.

    `size` is that of a number in bytes, 0 for those of any length.
    """

    repeated: bool
    message: _Descriptor
    packed: bool
    size: int


class TooManyEntries(Exception):
    """A message whose lists hold more than wanted, or that has too many fields."""


def check_entries(content: bytes, kind: type[Message], most: int) -> int:
    """Return how many entries the lists of a serialized message have, nested ones too.

    Raises TooManyEntries as soon as there are more than `most`, or more than sixteen
    times as many fields, and DecodeError for what is no message.
    """
    walk = _Walk(content, most)
    try:
        walk.message(0, len(content), kind.DESCRIPTOR)
    except IndexError as error:
        raise DecodeError("the message is cut off") from error
    return walk.entries


class _Walk:
    """Goes over the fields of one message."""

    def __init__(self, content: bytes, most: int) -> None:
        self.content = content
        self.most = most
        self.entries = 0
        self.fields = 0

    def message(self, at: int, end: int, kind: _Descriptor) -> None:
        """Count what stands between two places."""
        known = _fields(kind)
        while at < end:
            tag, at = self._number(at)
            after, begin = self._span(at, tag & 7)
            if after > end:
                raise DecodeError("a field is longer than its message")
            self._count(known.get(tag >> 3), tag & 7, begin, after)
            at = after

    def _count(self, field: _Kind | None, wire: int, begin: int, end: int) -> None:
        self.fields += 1
        if field is not None and field.repeated:
            together = field.packed and wire == _LENGTH_DELIMITED
            self.entries += self._packed(field, begin, end) if together else 1
        if self.entries > self.most or self.fields > self.most * FIELDS_PER_ENTRY:
            raise TooManyEntries
        if field is not None and field.message and wire == _LENGTH_DELIMITED:
            self.message(begin, end, field.message)

    def _packed(self, field: _Kind, begin: int, end: int) -> int:
        if field.size:
            return (end - begin) // field.size
        return len(self.content[begin:end].translate(None, _GOES_ON))

    def _span(self, at: int, wire: int) -> tuple[int, int]:
        """Return where a value ends and where its content begins."""
        if wire == _LENGTH_DELIMITED:
            length, at = self._number(at)
            return at + length, at
        if wire == _VARINT:
            return self._number(at)[1], at
        if wire not in _SIZES:
            raise DecodeError("a field is of no known kind")
        return at + _SIZES[wire], at

    def _number(self, at: int) -> tuple[int, int]:
        """Return a number of any length and the place behind it."""
        value = self.content[at]
        if value < 0x80:  # noqa: PLR2004 - by far the most
            return value, at + 1
        value &= 0x7F
        for place in range(1, _LONGEST_VARINT):
            byte = self.content[at + place]
            value |= (byte & 0x7F) << 7 * place
            if byte < 0x80:  # noqa: PLR2004 - the last one
                return value, at + place + 1
        raise DecodeError("a number is too long")


@cache
def _fields(kind: _Descriptor) -> dict[int, _Kind]:
    return {
        field.number: _Kind(
            field.is_repeated,
            field.message_type,
            field.type
            not in {
                FieldDescriptor.TYPE_STRING,
                FieldDescriptor.TYPE_BYTES,
                FieldDescriptor.TYPE_MESSAGE,
                FieldDescriptor.TYPE_GROUP,
            },
            _FIXED_TYPES.get(field.type, 0),
        )
        for field in kind.fields
    }
