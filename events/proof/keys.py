"""Keys that sign the heads: kept in the database, for several hosts sign one tree.

The private half is sealed under the service's secret key, which the database does not
hold: who reads a database or its backup cannot sign.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils.crypto import salted_hmac

from events.activities import Activity
from events.audit.emission import audit_record
from events.instants import render_instant
from events.models import AuditKey
from meshmgmt.core import clock
from meshmgmt.core.sealing import Unreadable, seal, unseal
from meshmgmt.env import PROGRAM


class KeyUnavailable(Exception):
    """The private key cannot be opened with this secret key; one sentence."""


def current() -> AuditKey | None:
    return AuditKey.objects.filter(valid_until=None).first()


def make(activity: Activity, **meta: str) -> AuditKey:
    """Make a key and tell the trail its public half; in a write."""
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes_raw()
    name = sha256(public).hexdigest()[:16]
    # Sealed with its name, so that a key cannot be put in the place of another.
    sealed = seal(_secret(), private.private_bytes_raw(), name)
    key = AuditKey.objects.create(id=name, public_key=public, sealed=sealed)
    facts = {"public_key": b64encode(public).decode(), **meta}
    audit_record(activity, target_id=name, target_type="auditkey", meta=facts)
    return key


def close(key: AuditKey) -> None:
    """Let a key sign nothing from now on."""
    key.valid_until = clock.now()
    key.save(update_fields=["valid_until"])


def private_key(key: AuditKey) -> Ed25519PrivateKey:
    """Return the private half. Raises KeyUnavailable."""
    try:
        opened = unseal(_secret(), key.sealed, key.id)
    except Unreadable as error:
        raise KeyUnavailable(
            f"the signing key {key.id} was sealed under another secret key: set that"
            f" again, or run `{PROGRAM} audit rotate-key`"
        ) from error
    return Ed25519PrivateKey.from_private_bytes(opened)


def public_rows() -> list[dict[str, Any]]:
    """Return the public halves and when they are valid, the oldest first."""
    return [
        {
            "key_id": key.id,
            "algorithm": "Ed25519",
            "public_key": b64encode(bytes(key.public_key)).decode(),
            "valid_from": render_instant(key.valid_from),
            "valid_until": key.valid_until and render_instant(key.valid_until),
        }
        for key in AuditKey.objects.order_by("valid_from")
    ]


def _secret() -> bytes:
    # Not the secret key itself: what is sealed for one purpose opens nothing else.
    return salted_hmac(__name__, "audit key", algorithm="sha256").digest()
