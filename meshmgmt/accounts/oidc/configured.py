"""The provider of this deployment, as `SVC_OIDC_*` name it."""

import base64
import hashlib
import urllib.parse
from collections.abc import Sequence
from functools import lru_cache

from django.conf import settings

from meshmgmt.accounts.oidc.identity import Claims, checked_claims
from meshmgmt.accounts.oidc.provider import Provider
from meshmgmt.core.ids import ID_LENGTH


def is_configured() -> bool:
    return bool(settings.SVC.oidc_issuer)


def provider() -> Provider:
    """Return the provider, one per process."""
    return _provider(settings.SVC.oidc_issuer)


@lru_cache(maxsize=4)
def _provider(issuer: str) -> Provider:
    return Provider(issuer)


def keys_location() -> str:
    """Return where the provider last said that its keys are; until then its usual place.

    Asks nobody: maps of peers are made of it, under locks too.
    """
    said = str(provider().known.get("jwks_uri", ""))
    return said or f"{settings.SVC.oidc_issuer.rstrip('/')}/.well-known/jwks.json"


def audience() -> Sequence[str]:
    """Return whom tokens must be meant for, one of these: the client, unless told."""
    return settings.SVC.oidc_audience or [settings.SVC.oidc_client_id]


def bearer_claims(token: str) -> Claims:
    """Return the claims of a bearer token. Raises Unauthenticated, Unavailable."""
    return checked_claims(token, provider(), audience=audience())


def configured_providers() -> list[dict[str, str]]:
    """Return what the API tells of the provider: `id type name issuer client_id`."""
    if not is_configured():
        return []
    issuer = settings.SVC.oidc_issuer
    return [
        {
            "id": provider_id(issuer),
            "type": "oidc",
            "name": urllib.parse.urlsplit(issuer).hostname or issuer,
            "issuer": issuer,
            "client_id": settings.SVC.oidc_client_id,
        }
    ]


def provider_id(issuer: str) -> str:
    """Return the id of a provider, which follows from its issuer."""
    digest = hashlib.sha256(issuer.encode()).digest()
    return base64.b32hexencode(digest).decode("ascii").lower()[:ID_LENGTH]
