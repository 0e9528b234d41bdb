"""What commands share: clear errors, files, people."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError

from meshmgmt.accounts.models import User
from meshmgmt.core.errors import ServiceError


@contextmanager
def clear_errors() -> Iterator[None]:
    """Turn the refusals of services into one sentence and exit status 1."""
    try:
        yield
    except ServiceError as error:
        texts = [fault.message for fault in error.errors] or [error.message]
        raise CommandError("; ".join(texts)) from error


def read_text(name: str) -> str:
    """Return the text of a file, `-` for standard input. Raises CommandError."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read: {error}") from error
    # Editors of Windows begin a text with a mark of its byte order.
    return text.removeprefix("\ufeff")


def known_user(reference: str) -> User | None:
    """Return the user with this e-mail address or id, None when there is none."""
    user = User.objects.with_email(reference).first()
    return user or User.objects.filter(pk=reference).first()


def find_user(reference: str) -> User:
    """Return the user with this e-mail address or id. Raises CommandError."""
    user = known_user(reference)
    if user is None:
        raise CommandError(f"no user has the e-mail address or id {reference!r}")
    return user
