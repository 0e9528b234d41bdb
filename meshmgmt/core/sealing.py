"""Secrets encrypted for the database (AES-256-GCM), which alone gives none of them away."""

import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES: Final = 12


class Unreadable(Exception):
    """A text was sealed under another key or for another owner, or was altered."""


def seal(key: bytes, plain: bytes, owner: str = "") -> bytes:
    """Return `plain` encrypted under 32 bytes, good in the row of `owner` alone."""
    # By chance: no counter would be safe from a database put back.
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, owner.encode())


def unseal(key: bytes, sealed: bytes | memoryview, owner: str = "") -> bytes:
    """Return what `seal` was given. Raises Unreadable."""
    nonce, text = bytes(sealed[:_NONCE_BYTES]), bytes(sealed[_NONCE_BYTES:])
    try:
        return AESGCM(key).decrypt(nonce, text, owner.encode())
    except (InvalidTag, ValueError) as error:
        raise Unreadable from error
