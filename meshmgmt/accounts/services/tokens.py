"""Writes on access tokens. Every function runs in one account write."""

import datetime as dt
from dataclasses import dataclass

from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.rules import MAX_DAYS, token_errors
from meshmgmt.accounts.tokens import new_token, token_hash
from meshmgmt.core import clock, context
from meshmgmt.core.durations import GRACE, days_between
from meshmgmt.core.errors import NotFound, raise_field_errors
from meshmgmt.core.queries import found
from meshmgmt.core.transactions import account_write


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token just made; `plain` is shown once and stored nowhere."""

    plain: str
    token: AccessToken


def token_create(
    *, user_id: str, name: str, expires_in: int, scope: str = ""
) -> NewToken:
    """Create a token of a user that lives `expires_in` days.

    Raises InvalidArgument, NotFound.
    """
    with account_write():
        raise_field_errors(token_errors(name, expires_in, scope))
        user = found(User, user_id, kind="user")
        plain = new_token()
        now = clock.now()
        token = AccessToken(
            user=user,
            name=name,
            hash=token_hash(plain),
            scope=scope,
            created_by=context.current().actor.id,
            created_at=now,
            expires_at=now + dt.timedelta(days=expires_in),
        )
        token.save(force_insert=True)
        return NewToken(plain, token)


def token_rotate(*, user_id: str, token_id: str, at_once: bool) -> NewToken:
    """Make a token like another, which ends at once or within `GRACE`.

    Raises NotFound.
    """
    with account_write():
        old = _token(user_id, token_id)
        days = days_between(old.created_at, old.expires_at, MAX_DAYS)
        made = token_create(
            user_id=user_id,
            name=old.name,
            expires_in=days,
            scope=old.scope,
        )
        if at_once:
            old.delete()
        # A token that ends sooner gets no longer life by being replaced.
        elif old.expires_at > (end := clock.now() + GRACE):
            old.expires_at = end
            old.save(update_fields=["expires_at"])
        return made


def token_delete(*, user_id: str, token_id: str) -> None:
    """Revoke a token of a user. Raises NotFound."""
    with account_write():
        _token(user_id, token_id).delete()


def _token(user_id: str, token_id: str) -> AccessToken:
    # Its events name the user.
    tokens = AccessToken.objects.select_related("user")
    token = tokens.filter(pk=token_id, user_id=user_id).first()
    if token is None:
        raise NotFound.of("token", token_id)
    return token
