"""Who sends a request: access tokens, those of the provider, admin sessions.

The texts of refusals are those that clients look at.
"""

import hmac
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from rest_framework.authentication import (
    BaseAuthentication,
    CSRFCheck,
    SessionAuthentication,
)
from rest_framework.request import Request

from events.audit.emission import NEWEST_COLUMNS
from meshmgmt.accounts import tokens
from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.oidc.provisioning import user_of_bearer
from meshmgmt.api.exceptions import CHALLENGE, NO_CREDENTIALS
from meshmgmt.api.middleware import Wrapped, set_actor
from meshmgmt.api.pages import admin_site
from meshmgmt.core import clock
from meshmgmt.core.errors import Forbidden, Unauthenticated
from meshmgmt.core.queries import Prepared, columns_of, loaded

Credentials = tuple[User, AccessToken | None]

# Every request asks this: making its SQL would take longer than the answer does.
_BY_HASH: Final = Prepared(
    lambda digest: (
        AccessToken.objects.filter(hash=digest)
        .order_by()
        .values_list(
            *columns_of(AccessToken), *columns_of(User, "user__"), *NEWEST_COLUMNS
        )
    )
)


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Token <token>`, or `Bearer <token>` with ours or the provider's."""

    def authenticate(self, request: Request) -> Credentials | None:
        """Return user and token, None without the header.

        Raises Unauthenticated, of tokens of the provider Forbidden and Unavailable too.
        """
        header = request.headers.get("Authorization", "")
        if not header:
            return None
        scheme, _, credential = header.partition(" ")
        scheme = scheme.lower()
        if scheme not in {"token", "bearer"}:
            # In the reference, other schemes count as no credentials.
            raise Unauthenticated(NO_CREDENTIALS)
        # Clients send our own tokens by either scheme.
        if scheme == "bearer" and not credential.startswith(tokens.PREFIX):
            user = user_of_bearer(credential)
            set_actor(user)
            return user, None
        token = find_token(credential)
        set_actor(token.user, token_id=token.pk)
        tokens.note_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return CHALLENGE


def find_token(text: str) -> AccessToken:
    """Return the token with its user, in one query. Raises Unauthenticated.

    Malformed, unknown and revoked tokens are told apart by nobody. The database compares
    hashes only, so how long it takes says nothing about a token.
    """
    if not tokens.is_well_formed(text):
        raise Unauthenticated(tokens.INVALID)
    digest = tokens.token_hash(text)
    token = next(map(_with_user, _BY_HASH.rows(digest)), None)
    if token is None or not hmac.compare_digest(token.hash, digest):
        raise Unauthenticated(tokens.INVALID)
    if token.expires_at <= clock.now():
        raise Unauthenticated(tokens.EXPIRED)
    return token


def _with_user(row: tuple[Any, ...]) -> AccessToken:
    # One row holds token, user and newest event, so that a request costs one query.
    own, newest = len(AccessToken._meta.concrete_fields), len(row) - len(NEWEST_COLUMNS)
    token = loaded(AccessToken, row[:own])
    token.user = loaded(User, row[own:newest])
    token.account_state = row[newest:] if row[newest] else None
    return token


class CsrfSessionAuthentication(SessionAuthentication):
    """The session of the admin site; writes need its CSRF token too."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        """Return the signed-in user, None without a session. Raises Forbidden."""
        user = getattr(_django_request(request), "user", None)
        if not isinstance(user, User):
            return None
        if user.password_is_temporary:
            raise Forbidden(
                "this session was opened with a one-time password: change it first"
                " in the admin site"
            )
        self.enforce_csrf(request)
        set_actor(user)
        return user, None

    def enforce_csrf(self, request: Request) -> None:
        """Raise Forbidden for a write without the CSRF token."""
        check = CSRFCheck(_no_response)
        http_request = _django_request(request)
        check.process_request(http_request)
        reason = check.process_view(http_request, _no_response, (), {})
        if reason:
            raise Forbidden(f"CSRF check failed: {reason}")


def _django_request(request: Request) -> HttpRequest:
    """Return the request under DRF's, whose own `user` would authenticate again."""
    return request._request  # noqa: SLF001 - DRF gives no other way to it


def _no_response(request: HttpRequest) -> HttpResponse:
    """Stand in for the view that the check would otherwise go on to."""
    return HttpResponse()


class TemporaryPasswordMiddleware(Wrapped):
    """Lets nobody past the first sign-in before they have chosen a password."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Lead pages of the admin site to the one that changes the password."""
        if request.path.startswith(admin_site()):
            user = request.user
            if isinstance(user, User) and user.password_is_temporary:
                change = reverse("admin:password_change")
                # The page that changes it loads the catalogue of the script's texts.
                allowed = (change, reverse("admin:logout"), reverse("admin:jsi18n"))
                if request.path not in allowed:
                    return HttpResponseRedirect(change)
        return self.get_response(request)
