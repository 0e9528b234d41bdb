"""Writes on access tokens. Each runs in one account write."""

import datetime as dt
from collections.abc import Iterator
from typing import Any, Final

from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.accounts.rules import token_errors
from meshmgmt.accounts.tokens import new_token, token_hash
from meshmgmt.core import clock, context
from meshmgmt.core.durations import GRACE
from meshmgmt.core.errors import FieldError
from meshmgmt.core.resources import Resource, Values, Write, column_values
from meshmgmt.core.transactions import account_write

DAY: Final = dt.timedelta(days=1)


class _Users(Resource[User]):
    """Whose tokens they are; their own writes are in `services.users`."""

    model = User
    kind = "user"


class AccessTokens(Resource[AccessToken]):
    """Tokens of users, never changed; a new one lives `expires_in` days."""

    model = AccessToken
    kind = "token"
    whole = _Users()

    def errors(self, write: Write[AccessToken]) -> Iterator[FieldError]:
        values = write.values
        return token_errors(values["name"], values["expires_in"], values["scope"])

    def fill(self, instance: AccessToken, values: Values) -> None:
        super().fill(instance, values)
        instance.plain = new_token()
        instance.hash = token_hash(instance.plain)
        instance.created_by = context.current().actor.id
        instance.expires_at = instance.created_at + values["expires_in"] * DAY


access_tokens: Final = AccessTokens()


def token_rotate(
    tokens: Resource[Any], token_id: str, *, at_once: bool, whole: str = ""
) -> Any:
    """Make a token like another of the same `whole`, which ends at once or within `GRACE`.

    Raises NotFound.
    """
    with account_write():
        old = tokens.get(token_id)
        days = 0  # for ever
        if old.expires_at is not None:
            # One that was rotated before may have lived for less than a day.
            days = max(1, round((old.expires_at - old.created_at) / DAY))
        made = tokens.create({**column_values(old), "expires_in": days}, whole)
        end = clock.now() + GRACE
        if at_once:
            old.delete()
        # A token that ends sooner gets no longer life by being replaced.
        elif old.expires_at is None or old.expires_at > end:
            old.expires_at = end
            old.save(update_fields=["expires_at"])
        return made
