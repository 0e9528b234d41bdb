"""Secrets that sign webhooks: made here, shown once, kept sealed under `SVC_SECRET_KEY`."""

import base64
import hmac
import os
import secrets
from datetime import timedelta
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings

from meshmgmt.core import clock
from meshmgmt.delivery.models import Subscription

PREFIX: Final = "whsec_"
OVERLAP: Final = timedelta(days=1)
"""How long the secret before still signs, beside the new one."""
_NONCE_BYTES: Final = 12


class Unreadable(Exception):
    """A secret was sealed under another `SVC_SECRET_KEY`."""


def give_secret(subscription: Subscription) -> str:
    """Return a new secret in the form of Standard Webhooks; keep it with the last one."""
    made = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    try:
        kept = _opened(subscription)[:1] if subscription.sealed_secret else []
    except Unreadable:
        kept = []
    nonce = os.urandom(_NONCE_BYTES)
    text, owner = " ".join([made, *kept]).encode(), subscription.pk.encode()
    subscription.sealed_secret = nonce + _cipher().encrypt(nonce, text, owner)
    subscription.secret_made = clock.now()
    return made


def secrets_of(subscription: Subscription) -> list[str]:
    """Return the secrets that sign now, the newest first. Raises Unreadable."""
    made = subscription.secret_made
    overlaps = made is not None and clock.now() < made + OVERLAP
    return _opened(subscription)[: 1 + overlaps]


def key_of(secret: str) -> bytes:
    """Return the bytes that a secret stands for."""
    return base64.b64decode(secret.removeprefix(PREFIX))


def _opened(subscription: Subscription) -> list[str]:
    sealed, owner = bytes(subscription.sealed_secret), subscription.pk.encode()
    nonce, text = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    try:
        return _cipher().decrypt(nonce, text, owner).decode().split()
    except (InvalidTag, ValueError) as error:
        raise Unreadable from error


def _cipher() -> AESGCM:
    key = settings.SECRET_KEY.encode()
    return AESGCM(hmac.digest(key, b"secrets of webhooks", "sha256"))
