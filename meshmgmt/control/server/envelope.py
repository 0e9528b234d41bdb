"""Sealed messages: NaCl boxes between the server's key and that of a peer.

The server's key is derived from the secret key, which all processes of a deployment
share, so an agent may get it from one and use it with another, also after a restart.
"""

import base64
import hashlib
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from google.protobuf.message import DecodeError, Message
from nacl.exceptions import CryptoError
from nacl.public import Box, PrivateKey, PublicKey

from meshmgmt.control.protocol.management_pb2 import EncryptedMessage
from meshmgmt.control.services.refusals import SENT_BEFORE, Code, Refused
from meshmgmt.inventory.rules import KEY_BYTES, key_bytes

_NONCE_BYTES: Final = 24
_REMEMBERED: Final = 50_000
"""Nonces: a few megabytes."""
MOST_BYTES: Final = 256 * 2**10
MOST_ENTRIES: Final = 1000
"""Of all lists in a message, those in lists too."""
_M = TypeVar("_M", bound=Message)


@dataclass(frozen=True, slots=True)
class Opened(Generic[_M]):
    """A message, who sent it, and the box that seals answers."""

    public_key: str
    message: _M
    box: Box


class Envelopes:
    """Opens and seals with one server key, and remembers what was opened.

    An envelope opens once, as long as it is remembered: memory is bounded and this
    process's own. What must never count twice is kept in the database, see `logout`.
    """

    def __init__(self, secret: str) -> None:
        seed = hashlib.blake2b(
            # `person` tells this key from others that are made of the secret.
            secret.encode(),
            digest_size=KEY_BYTES,
            person=b"peer server key",
        )
        self._private = PrivateKey(seed.digest())
        self.public_key = base64.b64encode(bytes(self._private.public_key)).decode()
        self._seen: OrderedDict[bytes, None] = OrderedDict()

    @staticmethod
    def refuse_long(envelope: EncryptedMessage) -> None:
        """Raise Refused (INVALID_ARGUMENT) for one that nobody needs to keep."""
        if envelope.ByteSize() > MOST_BYTES:
            raise Refused(Code.INVALID_ARGUMENT, "the message is too long")

    def open(self, envelope: EncryptedMessage, kind: type[_M]) -> Opened[_M]:
        """Return the message inside. Raises Refused (INVALID_ARGUMENT)."""
        self.refuse_long(envelope)
        try:
            box = Box(self._private, PublicKey(key_bytes(envelope.wgPubKey)))
            message = kind()
            message.ParseFromString(box.decrypt(envelope.body))
        except (CryptoError, DecodeError, ValueError, TypeError) as error:
            raise Refused(
                Code.INVALID_ARGUMENT, "the message cannot be opened", reason=str(error)
            ) from error
        # Cheap so far: until somebody looks at it, no entry is an object of Python.
        _check_entries(message, MOST_ENTRIES)
        # Only now: who cannot seal for a peer must not use up its nonces.
        nonce = envelope.body[:_NONCE_BYTES]
        if nonce in self._seen:
            raise Refused(Code.INVALID_ARGUMENT, SENT_BEFORE)
        self._seen[nonce] = None
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return Opened(envelope.wgPubKey, message, box)

    def seal(self, box: Box, message: bytes) -> EncryptedMessage:
        """Return the serialized `message` in an envelope."""
        return EncryptedMessage(wgPubKey=self.public_key, body=box.encrypt(message))


def _check_entries(message: Message, most: int) -> int:
    """Return how many entries less than `most` the lists of a message have.

    Nested lists count, too. Raises Refused when there are more.
    """
    for field, value in message.ListFields():
        if field.is_repeated:
            most -= len(value)
        if most < 0:
            text = f"the message has more than {MOST_ENTRIES} entries in its lists"
            raise Refused(Code.INVALID_ARGUMENT, text)
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                most = _check_entries(part, most)
    return most
