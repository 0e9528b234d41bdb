"""Rules on users, tokens and passwords, as pure functions."""

import re
import secrets
import string
import unicodedata
from collections.abc import Iterator
from typing import Final

from meshmgmt.core.errors import FieldError
from meshmgmt.core.roles import Role

MAX_NAME: Final = 255
MAX_EMAIL: Final = 254  # RFC 5321, Section 4.5.3.1.3, less the angle brackets
MAX_EMAIL_KEY: Final = 2 * MAX_EMAIL  # folding may lengthen a text
MIN_DAYS: Final = 1
MAX_DAYS: Final = 365
SCOPES: Final = ("", "ingest")
EMAIL_TAKEN: Final = "another user has this e-mail address"

ASKED_FOR: Final = (
    "8 to 128 characters with a digit, an upper-case letter and a special character"
)
"""Of passwords that people choose."""
PASSWORD_LENGTH: Final = 16
MIN_PASSWORD: Final = 8
MAX_PASSWORD: Final = 128
SPECIAL: Final = "!#%+-=?@_"
ALPHABET: Final = string.ascii_letters + string.digits + SPECIAL

_ASKED: Final = (
    (re.compile(r"[0-9]"), "a digit"),
    (re.compile(r"[A-Z]"), "an upper-case letter"),
    (re.compile(r"[^0-9A-Za-z]"), "a special character"),
)
_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


def fold_email(email: str) -> str | None:
    """Return the form of an e-mail address for comparisons, None for no address."""
    return unicodedata.normalize("NFKC", email).casefold() or None


def email_errors(email: str) -> Iterator[FieldError]:
    """Check the address of a person: one `@` with something on both sides."""
    if len(email) > MAX_EMAIL:
        text = f"an e-mail address has at most {MAX_EMAIL} characters"
        yield FieldError("email", text)
    elif not _EMAIL.fullmatch(email):
        yield FieldError("email", f"{email!r} is not an e-mail address")
    # A letter may stand for eighteen, and the column is no text without bounds.
    elif len(fold_email(email) or "") > MAX_EMAIL_KEY:
        text = f"an e-mail address has at most {MAX_EMAIL_KEY} characters when folded"
        yield FieldError("email", text)


def user_name_errors(name: str) -> Iterator[FieldError]:
    """Check a user's name, which may be empty."""
    if len(name) > MAX_NAME:
        yield FieldError("name", f"a name has at most {MAX_NAME} characters")
    else:
        yield from _nul_errors(name)


def role_errors(role: str, *, is_service_user: bool) -> Iterator[FieldError]:
    """Check that the role exists and may be given to this kind of user."""
    if role not in set(Role):
        known = ", ".join(Role)
        yield FieldError("role", f"{role[:40]!r} is not a role: use one of {known}")
    elif is_service_user and role == Role.OWNER:
        yield FieldError("role", "a service user cannot have the owner role")


def token_errors(name: str, days: int, scope: str) -> Iterator[FieldError]:
    """Check what a new token is asked to be."""
    if not name.strip():
        yield FieldError("name", "the token's name is empty")
    elif len(name) > MAX_NAME:
        text = f"the token's name has more than {MAX_NAME} characters"
        yield FieldError("name", text)
    yield from _nul_errors(name)
    if not MIN_DAYS <= days <= MAX_DAYS:
        text = f"a token lives {MIN_DAYS} to {MAX_DAYS} days, not {days}"
        yield FieldError("expires_in", text)
    if scope not in SCOPES:
        yield FieldError("scope", f"{scope[:40]!r} is not a scope of tokens")


def _nul_errors(name: str) -> Iterator[FieldError]:
    """PostgreSQL cannot store NUL in a text."""
    if "\x00" in name:
        yield FieldError("name", "the name must not contain the NUL character")


def new_password() -> str:
    """Return a random password that fulfils `weaknesses`; 96 bits or more."""
    # Drawn anew as a whole: putting in what lacks would make some more likely.
    while True:
        password = "".join(secrets.choice(ALPHABET) for _ in range(PASSWORD_LENGTH))
        if not weaknesses(password):
            return password


def weaknesses(password: str) -> list[str]:
    """Return a sentence for each thing that a chosen password lacks.

    What is asked for is what clients of the reference API ask of people themselves.
    """
    found = []
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        found.append(f"a password has {MIN_PASSWORD} to {MAX_PASSWORD} characters")
    found += [
        f"a password needs {what}"
        for pattern, what in _ASKED
        if not pattern.search(password)
    ]
    return found
