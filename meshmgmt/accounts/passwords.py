"""Passwords that are made or asked for here: pure."""

import re
import secrets
import string
from typing import Final

LENGTH: Final = 16
MIN_LENGTH: Final = 8
MAX_LENGTH: Final = 128
SPECIAL: Final = "!#%+-=?@_"
ALPHABET: Final = string.ascii_letters + string.digits + SPECIAL

_ASKED: Final = (
    (re.compile(r"[0-9]"), "a digit"),
    (re.compile(r"[A-Z]"), "an upper-case letter"),
    (re.compile(r"[^0-9A-Za-z]"), "a special character"),
)


def new_password() -> str:
    """Return a random password that fulfils `weaknesses`; 96 bits or more."""
    # Drawn anew as a whole: putting in what lacks would make some more likely.
    while True:
        password = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        if not weaknesses(password):
            return password


def weaknesses(password: str) -> list[str]:
    """Return a sentence for each thing that a chosen password lacks.

    What is asked for is what clients of the reference API ask of people themselves.
    """
    found = []
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        found.append(f"a password has {MIN_LENGTH} to {MAX_LENGTH} characters")
    found += [
        f"a password needs {what}"
        for pattern, what in _ASKED
        if not pattern.search(password)
    ]
    return found
