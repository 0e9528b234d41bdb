"""Keys of requests that may come again, and answers sealed for whoever repeats one."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

import orjson

from meshmgmt.core.errors import BadRequest
from meshmgmt.core.sealing import seal, unseal

KEY_PATTERN: Final = "[!-~]{1,255}"
_HALF: Final = 32


@dataclass(frozen=True, slots=True)
class Seal:
    """What one request gives to know it again and to lock its answer with.

    Both halves come out of a secret that is not in the database, and all of the request:
    who reads the database can neither open an answer nor try out passwords that stood in a
    body.
    """

    fingerprint: str
    _secret: bytes

    @classmethod
    def of(
        cls, secret: str, *, key: str, method: str, path: str, body: bytes
    ) -> "Seal":
        """Return the seal of a request; `path` with its query."""
        parts = [key, method, path, hashlib.sha256(body).hexdigest()]
        text = orjson.dumps(parts)
        whole = hmac.digest(secret.encode(), text, "sha512")
        # One half is stored, the other never is.
        return cls(whole[:_HALF].hex(), whole[_HALF:])

    def close(self, plain: bytes) -> bytes:
        """Return `plain` encrypted."""
        return seal(self._secret, plain)

    def open(self, sealed: bytes) -> bytes:
        """Return what `close` was given. Raises Unreadable: it was another seal's."""
        return unseal(self._secret, sealed)


def parse_key(header: str) -> str:
    """Return the key that an `Idempotency-Key` header gives.

    The draft of the IETF has it as a quoted string, most clients send it bare: both are
    the same key. Raises BadRequest.
    """
    key = header.strip()
    if len(key) > len('""') and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not re.fullmatch(KEY_PATTERN, key):
        raise BadRequest(
            "Idempotency-Key: must be 1 to 255 visible ASCII characters, such as a UUID"
        )
    return key
