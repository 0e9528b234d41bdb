"""What a call asks of the database."""

from collections.abc import Callable
from typing import TypeVar

from django.db import connection
from django.test.utils import CaptureQueriesContext

T = TypeVar("T")


def asking(call: Callable[[], T]) -> tuple[T, list[str]]:
    """Return what a call returns, and the statements that it runs."""
    with CaptureQueriesContext(connection) as queries:
        found = call()
    return found, [query["sql"] for query in queries]
