"""What commands share: clear errors, files, people, tables."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from meshmgmt.accounts.models import User
from meshmgmt.api.renderers import to_json
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.printable import printable


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


Column = tuple[str, str, str]
"""Heading, key, and the word for nothing; what is true is called by its key."""


def listed(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], *, as_json: bool
) -> str:
    """Return rows as one JSON document, else as a table of some of their values."""
    if as_json:
        return to_json(rows).decode()
    header = [heading for heading, _, _ in columns]
    lines = [
        [
            key if row[key] is True else row[key] or nothing
            for _, key, nothing in columns
        ]
        for row in rows
    ]
    return f"{aligned(header, lines)}\n"


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return lines with columns of equal width; the last one is left ragged."""
    lines = [[printable(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(line, widths, strict=True)
        ).rstrip()
        for line in lines
    )
