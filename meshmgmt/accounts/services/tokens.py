"""Writes on access tokens. Each runs in one account write."""

import datetime as dt
from typing import Any, Final

from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.rules import MAX_DAYS, token_errors
from meshmgmt.accounts.tokens import new_token, token_hash
from meshmgmt.core import clock, context
from meshmgmt.core.durations import GRACE, days_between
from meshmgmt.core.fielderrors import FieldError
from meshmgmt.core.resources import Resource, Values, Write, column_values
from meshmgmt.core.transactions import account_write


class _Users(Resource[User]):
    """Whose tokens they are; their own writes are in `services.users`."""

    model = User
    kind = "user"


class AccessTokens(Resource[AccessToken]):
    """Tokens of users, never changed; a new one lives `expires_in` days."""

    model = AccessToken
    kind = "token"
    whole = _Users()

    def errors(self, write: Write[AccessToken]) -> list[FieldError]:
        values = write.values
        return token_errors(values["name"], values["expires_in"], values["scope"])

    def fill(self, instance: AccessToken, values: Values) -> None:
        super().fill(instance, values)
        instance.plain = new_token()
        instance.hash = token_hash(instance.plain)
        instance.created_by = context.current().actor.id
        life = dt.timedelta(days=values["expires_in"])
        instance.expires_at = instance.created_at + life


access_tokens: Final = AccessTokens()


def token_rotate(*, token_id: str, at_once: bool) -> AccessToken:
    """Make a token like another, which ends at once or within `GRACE`.

    Raises NotFound.
    """
    with account_write():
        old = access_tokens.get(token_id)
        days = days_between(old.created_at, old.expires_at, MAX_DAYS)
        alike = {**column_values(old), "expires_in": days}
        made = access_tokens.create(alike, old.user_id)
        retire(old, at_once=at_once)
        return made


def retire(token: Any, *, at_once: bool) -> None:
    """End a token that another takes the place of: now, or within `GRACE`."""
    if at_once:
        token.delete()
        return
    end = clock.now() + GRACE
    # A token that ends sooner gets no longer life by being replaced.
    if token.expires_at is None or token.expires_at > end:
        token.expires_at = end
        token.save(update_fields=["expires_at"])
