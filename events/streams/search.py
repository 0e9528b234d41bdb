"""The text that free-text search looks into, equal on every database and locale.

Letter case is removed here and never by the database: SQLite folds ASCII only, and what
PostgreSQL folds depends on its locale.
"""

from collections.abc import Iterable
from typing import Final

SEPARATOR: Final = "\x1f"
"""Stands between the searched fields, so that no match runs over two of them."""

SHORTEST_INDEXED: Final = 3
"""Trigram indexes cannot serve shorter search texts (in folded characters)."""

SHORT_SEARCH_ROWS: Final = 100_000
"""How many of the newest rows a shorter search looks into."""


def fold(text: str) -> str:
    """Return `text` as it is compared in searches: without letter case.

    Every character is folded by itself, so that a part of a text, folded, is a part of
    the folded text.
    """
    folded = text.lower() if text.isascii() else text.casefold()
    return folded.replace(SEPARATOR, " ")


def search_text(fields: Iterable[str]) -> str:
    """Return the searchable text of the given field values; empty ones are left out."""
    return SEPARATOR.join([fold(field) for field in fields if field])
