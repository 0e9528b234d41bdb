"""Owners of peers, signed in at the identity provider of this deployment."""

import datetime as dt
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.conf import settings

from meshmgmt.accounts.models import User
from meshmgmt.accounts.oidc.configured import (
    audience,
    bearer_claims,
    is_configured,
    keys_location,
    provider,
)
from meshmgmt.accounts.oidc.identity import LEEWAY_SECONDS
from meshmgmt.accounts.oidc.provisioning import user_of
from meshmgmt.accounts.tokens import EXPIRED
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services.once import spend
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.core import context
from meshmgmt.core.context import Actor
from meshmgmt.core.errors import Forbidden, Unauthenticated, Unavailable
from meshmgmt.inventory.standing import BLOCKED, PENDING

SCOPE: Final = "openid email profile offline_access"
REDIRECTS: Final = ("http://localhost:53000", "http://localhost:54000")
"""Where clients wait for the browser to come back; the provider must know them."""

FOREVER: Final = 10_000_000_000
"""Seconds since the epoch: no token is kept in mind for longer (the year 2286)."""

NO_PROVIDER: Final = "no identity provider is configured: use a setup key"
SPENT: Final = "this sign-in was used already: please sign in again"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user who may act, with the token that proves it."""

    user: User
    token: str
    expires_at: dt.datetime

    def acting(self) -> AbstractContextManager[None]:
        """Return a scope in which the user is who acts."""
        user = self.user
        actor = Actor(id=user.pk, name=user.name, email=user.email)
        return context.scope(actor=actor, user_id=user.pk)

    def spend(self) -> None:
        """Make the token useless for another login, in the running account write.

        Raises Refused when that was done before.
        """
        # What is signed: a signature can be written in several ways.
        signed = self.token.rpartition(".")[0]
        if not spend(signed.encode(), self.expires_at):
            raise Refused(Code.UNAUTHENTICATED, SPENT)


def signed_in(token: str) -> SignedIn:
    """Return the user of a token, made when the provider sends somebody new.

    Asks the provider, so it is not for use under the account lock. Raises Refused.
    """
    if not is_configured():
        raise Refused(Code.INVALID_ARGUMENT, NO_PROVIDER)
    try:
        claims = bearer_claims(token)
        user = user_of(claims, partial(provider().userinfo, token=token)).user
    except Unauthenticated as error:
        expired = error.message == EXPIRED
        code = Code.UNAUTHENTICATED if expired else Code.INVALID_ARGUMENT
        raise Refused(code, error.message) from error
    except Forbidden as error:
        raise Refused(Code.PERMISSION_DENIED, error.message) from error
    except Unavailable as error:
        raise Refused(Code.UNAVAILABLE, error.message) from error
    if user.is_blocked:
        raise Refused(Code.PERMISSION_DENIED, BLOCKED)
    if user.pending_approval:
        raise Refused(Code.PERMISSION_DENIED, PENDING)
    last_good = min(claims["exp"], FOREVER) + LEEWAY_SECONDS
    return SignedIn(user, token, dt.datetime.fromtimestamp(last_good, dt.UTC))


def pkce_flow() -> pb.PKCEAuthorizationFlow:
    """Return how a client signs its user in by the browser. Raises Refused."""
    config = _provider_config("authorization_endpoint")
    return pb.PKCEAuthorizationFlow(ProviderConfig=config)


def device_flow() -> pb.DeviceAuthorizationFlow:
    """Return how a client signs its user in on another device (RFC 8628).

    Raises Refused, also where the provider does not offer it.
    """
    config = _provider_config("device_authorization_endpoint")
    return pb.DeviceAuthorizationFlow(ProviderConfig=config)


def asked_keys_location() -> str:
    """Ask the provider where its keys are when it is time to; return what maps say then.

    Takes as long as the provider does; needs no database.
    """
    if not is_configured():
        return ""
    with suppress(Unavailable):  # told in the log
        provider().metadata()
    return keys_location()


def _provider_config(endpoint: str) -> pb.ProviderConfig:
    if not is_configured() or not settings.SVC.oidc_client_id:
        raise Refused(Code.NOT_FOUND, NO_PROVIDER)
    try:
        metadata = provider().metadata()
    except Unavailable as error:
        raise Refused(Code.UNAVAILABLE, error.message) from error
    if not metadata.get(endpoint):
        text = "the identity provider does not offer this way of signing in"
        raise Refused(Code.NOT_FOUND, text)

    def known(name: str) -> Any:
        return str(metadata.get(name, ""))

    return pb.ProviderConfig(
        ClientID=settings.SVC.oidc_client_id,
        Audience=audience()[0],  # clients refuse an empty one
        AuthorizationEndpoint=known("authorization_endpoint"),
        DeviceAuthEndpoint=known("device_authorization_endpoint"),
        TokenEndpoint=known("token_endpoint"),
        Scope=SCOPE,
        RedirectURLs=REDIRECTS,
        # Only an access token can be meant for an API; without one, the ID token is
        # what names this client as its audience.
        UseIDToken=not settings.SVC.oidc_audience,
    )
