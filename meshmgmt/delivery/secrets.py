"""Secrets that sign webhooks: made here, shown once, kept sealed under `SVC_SECRET_KEY`."""

import base64
import hmac
import os
import secrets
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

PREFIX: Final = "whsec_"
_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class Unreadable(Exception):
    """A secret was sealed under another `SVC_SECRET_KEY`."""


def new_secret() -> str:
    """Return a secret in the form of Standard Webhooks."""
    return PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """Return the bytes that a secret stands for."""
    return base64.b64decode(secret.removeprefix(PREFIX))


def seal(secret: str, owner: str) -> bytes:
    """Return the secret encrypted; it opens for the same owner alone."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher().encrypt(nonce, secret.encode(), owner.encode())


def opened(sealed: bytes | memoryview, owner: str) -> str:
    """Return what `seal` was given. Raises Unreadable."""
    nonce, text = bytes(sealed[:_NONCE_BYTES]), bytes(sealed[_NONCE_BYTES:])
    try:
        return _cipher().decrypt(nonce, text, owner.encode()).decode()
    except (InvalidTag, ValueError) as error:
        raise Unreadable from error


def _cipher() -> AESGCM:
    key = settings.SECRET_KEY.encode()
    return AESGCM(hmac.digest(key, b"secrets of webhooks", "sha256"))
