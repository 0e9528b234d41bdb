"""The first owner, made over HTTP. Runs in one account write."""

from dataclasses import dataclass
from typing import Final

from meshmgmt.accounts.models import User
from meshmgmt.accounts.passwords import MIN_LENGTH
from meshmgmt.accounts.rules import email_errors, token_errors
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import HashedPassword, user_create
from meshmgmt.api.middleware import set_actor
from meshmgmt.core.errors import FieldError, PreconditionFailed, raise_field_errors
from meshmgmt.core.roles import Role
from meshmgmt.core.textrules import name_errors
from meshmgmt.core.transactions import account_write

MAX_PASSWORD: Final = 72  # as clients of the reference API know it
PURPOSE: Final = "setup"
TOKEN_DAYS: Final = 30
DONE: Final = "setup already completed: there is an owner"


@dataclass(frozen=True, slots=True)
class FirstOwner:
    """The owner; `token` is shown once, "" when none was asked for."""

    user: User
    token: str = ""


def setup_is_open() -> bool:
    """Tell whether the first owner is still to be made."""
    return not User.objects.any_owner()


def check_setup_is_open() -> None:
    """Raise PreconditionFailed when there is an owner."""
    if not setup_is_open():
        raise PreconditionFailed(DONE)


def first_owner_create(
    *, email: str, name: str, password: str, token_days: int | None = None
) -> FirstOwner:
    """Make the first owner, with a token that lives `token_days` unless None.

    Raises PreconditionFailed when there is an owner, InvalidArgument, Conflict.
    """
    hashed = HashedPassword(password)
    with account_write():
        check_setup_is_open()
        errors = [
            *email_errors(email),
            *name_errors("name", name),
            *_password_errors(password),
        ]
        if token_days is not None:
            errors += [
                FieldError("pat_expire_in", error.message)
                for error in token_errors(PURPOSE, token_days, "")
            ]
        raise_field_errors(errors)
        user = user_create(email=email, name=name, role=Role.OWNER, password=hashed)
        if token_days is None:
            return FirstOwner(user)
        # The token is their own doing, and the trail says so.
        set_actor(user)
        terms = {"name": PURPOSE, "expires_in": token_days}
        return FirstOwner(user, access_tokens.create(terms, user.pk).plain)


def _password_errors(password: str) -> list[FieldError]:
    if MIN_LENGTH <= len(password) <= MAX_PASSWORD:
        return []
    text = f"a password has {MIN_LENGTH} to {MAX_PASSWORD} characters"
    return [FieldError("password", text)]
