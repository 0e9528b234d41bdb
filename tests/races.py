"""Calls that race: real threads, each with its own connection to the database."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from django.db import connections

from tests.api_client import Answer

Call = Callable[[], Answer]


def race(calls: Sequence[Call]) -> list[Answer]:
    """Start all calls at the same moment and return their answers."""
    barrier = Barrier(len(calls))

    def run(call: Call) -> Answer:
        try:
            barrier.wait(timeout=20)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
