"""Rules on users and tokens, as pure functions from values to field errors."""

import re
import unicodedata
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

_EMAIL: Final = re.compile(r"[^@\s\x00-\x1f\x7f]+@[^@\s\x00-\x1f\x7f]+")


def fold_email(email: str) -> str | None:
    """Return the form of an e-mail address for comparisons, None for no address."""
    return unicodedata.normalize("NFKC", email).casefold() or None


def email_errors(email: str) -> list[FieldError]:
    """Check the address of a person: one `@` with something on both sides."""
    if len(email) > MAX_EMAIL:
        text = f"an e-mail address has at most {MAX_EMAIL} characters"
        return [FieldError("email", text)]
    if not _EMAIL.fullmatch(email):
        return [FieldError("email", f"{email!r} is not an e-mail address")]
    # A letter may stand for eighteen, and the column is no text without bounds.
    if len(fold_email(email) or "") > MAX_EMAIL_KEY:
        text = f"an e-mail address has at most {MAX_EMAIL_KEY} characters when folded"
        return [FieldError("email", text)]
    return []


def user_name_errors(name: str) -> list[FieldError]:
    """Check a user's name, which may be empty."""
    if len(name) > MAX_NAME:
        return [FieldError("name", f"a name has at most {MAX_NAME} characters")]
    return _nul_errors("name", name)


def role_errors(role: str, *, is_service_user: bool) -> list[FieldError]:
    """Check that the role exists and may be given to this kind of user."""
    if role not in set(Role):
        known = ", ".join(Role)
        return [FieldError("role", f"{role[:40]!r} is not a role: use one of {known}")]
    if is_service_user and role == Role.OWNER:
        return [FieldError("role", "a service user cannot have the owner role")]
    return []


def token_errors(name: str, days: int, scope: str) -> list[FieldError]:
    """Check what a new token is asked to be."""
    errors = []
    if not name.strip():
        errors.append(FieldError("name", "the token's name is empty"))
    elif len(name) > MAX_NAME:
        text = f"the token's name has more than {MAX_NAME} characters"
        errors.append(FieldError("name", text))
    errors += _nul_errors("name", name)
    if not MIN_DAYS <= days <= MAX_DAYS:
        text = f"a token lives {MIN_DAYS} to {MAX_DAYS} days, not {days}"
        errors.append(FieldError("expires_in", text))
    if scope not in SCOPES:
        errors.append(FieldError("scope", f"{scope[:40]!r} is not a scope of tokens"))
    return errors


def _nul_errors(field: str, text: str) -> list[FieldError]:
    """PostgreSQL cannot store NUL in a text."""
    if "\x00" in text:
        return [FieldError(field, f"the {field} must not contain the NUL character")]
    return []
