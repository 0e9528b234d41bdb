"""SQL statements as trace lines, without their values: those may be secrets."""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from observability.logs.loglevels import TRACE

_LOG: Final = logging.getLogger("sql")


def trace_sql(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
) -> Any:
    """Run one statement and say what it was and how long it took."""
    begun = perf_counter()
    try:
        return execute(sql, params, many, context)
    finally:
        milliseconds = round((perf_counter() - begun) * 1000, 2)
        _LOG.log(TRACE, "SQL %s", sql, extra={"duration_ms": milliseconds})
