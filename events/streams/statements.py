"""Statements that Django has no words for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection


def fetched(sql: str, params: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
    """Return the rows that a statement gives."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def execute(sql: str, params: Sequence[Any] | None = None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


@contextmanager
def lock_timeout(limit: str) -> Iterator[None]:
    """Give up waiting for a lock early: whoever waits makes others wait behind it."""
    [(usual,)] = fetched("SHOW lock_timeout")
    execute(f"SET lock_timeout = '{limit}'")
    try:
        yield
    finally:
        execute(f"SET lock_timeout = '{usual}'")
