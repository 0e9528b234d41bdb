"""Serialized messages put together from serialized parts (Protocol Buffers encoding).

A repeated field is the concatenation of its elements, and the order of fields in a
message is free: whatever is equal for many messages is made once.
"""

from functools import lru_cache
from typing import Final

from google.protobuf.message import Message

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
