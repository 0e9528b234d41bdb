"""The first owner, and the code that proves to see the server's output."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from typing import Final

from django.conf import settings
from django.db import DatabaseError

from meshmgmt.accounts.models import User
from meshmgmt.accounts.oidc.configured import is_configured
from meshmgmt.accounts.rules import MIN_PASSWORD, email_errors, token_errors
from meshmgmt.accounts.services.tokens import access_tokens
from meshmgmt.accounts.services.users import HashedPassword, user_create
from meshmgmt.api.limits import check_guess
from meshmgmt.api.middleware import set_actor
from meshmgmt.core.context import account_id
from meshmgmt.core.errors import (
    FieldError,
    Forbidden,
    PreconditionFailed,
    raise_field_errors,
)
from meshmgmt.core.roles import Role
from meshmgmt.core.textrules import name_errors
from meshmgmt.core.transactions import account_write

MAX_PASSWORD: Final = 72  # as clients of the reference API know it
PURPOSE: Final = "setup"
TOKEN_DAYS: Final = 30
DONE: Final = "setup already completed: there is an owner"
CODE_LENGTH: Final = 16  # characters of base32: 80 bits
WHERE: Final = (
    "the server prints it on standard output when it starts, while there is no owner"
    " (as a service: journalctl -u meshmgmt; in a container: its log)"
)


def setup_code() -> str:
    """Return the code; the same in every process, on every host of one deployment."""
    # Worked out, not stored: who reads the database does not learn it.
    key = settings.SECRET_KEY.encode("utf-8")
    digest = hmac.new(key, f"setup {account_id()}".encode(), hashlib.sha256).digest()
    return base64.b32encode(digest).decode("ascii")[:CODE_LENGTH]


def is_setup_code(text: str) -> bool:
    """Tell whether `text` is the code; letter case and blanks do not matter."""
    given = "".join(text.split()).upper().encode("utf-8")
    return hmac.compare_digest(given, setup_code().encode("ascii"))


def check_setup_code(code: str) -> None:
    """Raise TooManyRequests, or Forbidden for a wrong code."""
    check_guess("setup code")
    if not is_setup_code(code):
        raise Forbidden(
            f"permission denied: from another host, setup needs the setup_code; {WHERE}"
        )


def start_notice() -> str:
    """Return what the server prints while there is no owner."""
    try:
        if User.objects.any_owner():
            return ""
    except DatabaseError:  # not migrated, or away: the readiness check tells
        return ""
    text = (
        "There is no owner yet. The page /setup makes one, or POST /api/setup, which from"
        f' another host needs "setup_code": "{setup_code()}"'
    )
    if is_configured():
        who = settings.SVC.oidc_owner or "the first person who"
        text += f"; or {who} signs in through {settings.SVC.oidc_issuer}"
    return text


def setup_is_open() -> bool:
    """Tell whether the first owner is still to be made."""
    return not User.objects.any_owner()


def check_setup_is_open() -> None:
    """Raise PreconditionFailed when there is an owner."""
    if not setup_is_open():
        raise PreconditionFailed(DONE)


def first_owner_create(
    *, email: str, name: str, password: str, token_days: int | None = None
) -> tuple[User, str]:
    """Make the first owner, with a token that lives `token_days`, "" for None.

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
            return user, ""
        # The token is their own doing, and the trail says so.
        set_actor(user)
        terms = {"name": PURPOSE, "expires_in": token_days}
        return user, access_tokens.create(terms, user.pk).plain


def _password_errors(password: str) -> Iterator[FieldError]:
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        text = f"a password has {MIN_PASSWORD} to {MAX_PASSWORD} characters"
        yield FieldError("password", text)
