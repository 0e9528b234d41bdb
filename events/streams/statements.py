"""Waiting little for locks, and sums that do not overflow.

Reported counters may be as big as the column.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.db.models import Aggregate, BigIntegerField

from meshmgmt.core.queries import execute, fetched

HIGHEST: Final = 2**63 - 1
"""What a bigger sum is shown as; clients read whole numbers of 64 bits."""

_HALF: Final = 32
_MASK: Final = 2**_HALF - 1


@contextmanager
def lock_timeout(limit: str) -> Iterator[None]:
    """Give up waiting for a lock early: whoever waits makes others wait behind it."""
    [(usual,)] = fetched("SHOW lock_timeout")
    execute(f"SET lock_timeout = '{limit}'")
    try:
        yield
    finally:
        execute(f"SET lock_timeout = '{usual}'")


def total_sql(vendor: str, columns: Sequence[str]) -> str:
    """Return the aggregate that adds columns up, as `Total` does."""
    if vendor == "postgresql":
        # PostgreSQL sums bigint as numeric; only adding before would overflow.
        total = " + ".join(f"SUM({column})" for column in columns)
        return f"LEAST(COALESCE({total}, 0), {HIGHEST})::bigint"
    # SQLite's SUM fails beyond 64 bits, so halves are summed and put together.
    high = " + ".join(f"SUM({column} >> {_HALF})" for column in columns)
    low = " + ".join(f"SUM({column} & {_MASK})" for column in columns)
    carried = f"({high} + (({low}) >> {_HALF}))"
    total = f"(({carried} << {_HALF}) | (({low}) & {_MASK}))"
    bounded = f"CASE WHEN {carried} > {_MASK >> 1} THEN {HIGHEST} ELSE {total} END"
    return f"COALESCE({bounded}, 0)"


class Total(Aggregate):
    """Sum of columns that hold no negative numbers; exact up to `HIGHEST`, 0 of none."""

    empty_result_set_value = 0
    output_field = BigIntegerField()

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        compiled = [compiler.compile(each) for each in self.source_expressions]
        columns = [column for column, _ in compiled]
        params = [value for _, values in compiled for value in values]
        # That of SQLite names each column five times.
        times = 1 if connection.vendor == "postgresql" else 5
        return total_sql(connection.vendor, columns), params * times
