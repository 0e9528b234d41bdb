"""Secrets that sign webhooks: made here, shown once, kept sealed under `SVC_SECRET_KEY`."""

import base64
import hmac
import secrets
from typing import Final

from django.conf import settings

from meshmgmt.core import clock
from meshmgmt.core.durations import GRACE
from meshmgmt.core.sealing import Unreadable, seal, unseal
from meshmgmt.delivery.models import Subscription

PREFIX: Final = "whsec_"


def give_secret(subscription: Subscription) -> str:
    """Return a new secret in the form of Standard Webhooks; keep it with the last one."""
    made = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    try:
        # Of two the newer: a further secret ends the day of the one before.
        kept = _opened(subscription)[:1] if subscription.sealed_secret else []
    # Sealed under another SVC_SECRET_KEY; a new secret must be possible all the same.
    except Unreadable:
        kept = []
    text = " ".join([made, *kept]).encode()
    subscription.sealed_secret = seal(_key(), text, subscription.pk)
    subscription.secret_made = clock.now()
    return made


def secrets_of(subscription: Subscription) -> list[str]:
    """Return the secrets that sign now, the newest first. Raises Unreadable."""
    made = subscription.secret_made
    overlaps = made is not None and clock.now() < made + GRACE
    return _opened(subscription)[: 1 + overlaps]


def key_of(secret: str) -> bytes:
    """Return the bytes that a secret stands for."""
    return base64.b64decode(secret.removeprefix(PREFIX))


def _opened(subscription: Subscription) -> list[str]:
    return unseal(_key(), subscription.sealed_secret, subscription.pk).decode().split()


def _key() -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), b"secrets of webhooks", "sha256")
