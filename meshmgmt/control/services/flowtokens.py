"""Tokens by which peers report their traffic: pure.

The payload names a peer and a moment, the signature proves that we wrote it. Clients send
`authorization: Bearer SIGNATURE.PAYLOAD` and look into neither.
"""

import base64
import binascii
import hashlib
import hmac
from typing import Final

LIFETIME_SECONDS: Final = 24 * 3600


def make_token(peer_id: str, expires: int, secret: str) -> tuple[str, str]:
    """Return payload and signature; `expires` is in Unix seconds."""
    payload = _encoded(f"{peer_id},{expires}".encode("ascii"))
    return payload, _signature(payload, secret)


def peer_of_token(authorization: str, now: float, secret: str) -> str | None:
    """Return the peer that the header names, None unless it is right and lasts."""
    scheme, _, token = authorization.partition(" ")
    signature, _, payload = token.partition(".")
    if scheme.lower() != "bearer" or not token.isascii():
        return None
    if not hmac.compare_digest(signature, _signature(payload, secret)):
        return None
    try:
        text = base64.urlsafe_b64decode(f"{payload}{'=' * (-len(payload) % 4)}")
    except binascii.Error:
        return None
    peer_id, _, expires = text.decode("ascii").partition(",")
    return peer_id if now < int(expires) else None


def _signature(payload: str, secret: str) -> str:
    key = f"flow token {secret}".encode()
    return _encoded(hmac.digest(key, payload.encode("ascii"), hashlib.sha256))


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=")
