"""The provider of this deployment, as `SVC_OIDC_*` name it."""

from functools import lru_cache

from django.conf import settings

from meshmgmt.accounts.oidc.identity import Claims, checked_claims
from meshmgmt.accounts.oidc.provider import Provider


def is_configured() -> bool:
    """Tell whether there is a provider."""
    return bool(settings.SVC.oidc_issuer)


def provider() -> Provider:
    """Return the provider, one per process."""
    return _provider(settings.SVC.oidc_issuer)


@lru_cache(maxsize=4)
def _provider(issuer: str) -> Provider:
    return Provider(issuer)


def audience() -> str:
    """Return whom tokens must be meant for."""
    return settings.SVC.oidc_audience or settings.SVC.oidc_client_id


def bearer_claims(token: str) -> Claims:
    """Return the claims of a bearer token. Raises Unauthenticated, Unavailable."""
    return checked_claims(token, provider(), audience=audience())
