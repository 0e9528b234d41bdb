"""Log records as one line of JSON or text.

Every line carries `time`, `level` and `msg`, then the facts of the request it belongs
to (seed, Structured log records), then what the call gave in `extra`. Secrets are
hidden here, whatever the record says.
"""

import logging
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import orjson

from meshmgmt.core import context
from meshmgmt.core.printable import printable
from observability.logs import loglevels, redaction

_CONTEXT_FIELDS: Final = (
    "request_id",
    "client_request_id",
    "account_id",
    "user_id",
    "peer_id",
)
_STANDARD: Final = frozenset(
    vars(logging.LogRecord("", 0, "", 0, "", (), None)).keys()
) | {"message", "asctime", "taskName", "request", "response"}


def fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return what the line says, in order, with secrets hidden."""
    facts: dict[str, Any] = {
        "time": _moment(record.created),
        "level": loglevels.name_of(record.levelno),
        "msg": redaction.text(record.getMessage()),
        "logger": record.name,
    }
    current = context.current()
    for name in _CONTEXT_FIELDS:
        known = getattr(current, name)
        if known:
            facts[name] = known
    for name, value in vars(record).items():
        if name not in _STANDARD and not name.startswith("_"):
            hidden = redaction.is_secret_key(name) and value
            facts[name] = redaction.HIDDEN if hidden else redaction.value(value)
    trace = _trace(record)
    if trace:
        facts["stack"] = redaction.text(trace)
    facts["pid"] = record.process
    return facts


def _moment(seconds: float) -> str:
    whole = int(seconds)
    return f"{_second(whole)}.{int((seconds - whole) * 1e6):06d}Z"


@lru_cache(maxsize=4)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _trace(record: logging.LogRecord) -> str:
    parts = []
    if record.exc_info:
        parts.append(logging.Formatter().formatException(record.exc_info))
    if record.stack_info:
        parts.append(record.stack_info)
    return "\n".join(parts)


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end; made once for all outputs."""
        kept, name = vars(record), f"_{type(self).__name__}"
        if name not in kept:
            kept[name] = self.line(fields(record))
        return str(kept[name])

    def line(self, facts: dict[str, Any]) -> str:
        raise NotImplementedError


class JsonFormatter(_LineFormatter):
    """One JSON object per line."""

    def line(self, facts: dict[str, Any]) -> str:
        return orjson.dumps(facts, default=str).decode()


class TextFormatter(_LineFormatter):
    """`time LEVEL message key=value ...`, for people; still one line per record.

    A stack trace follows on lines of its own. Control characters are escaped, so that a
    value cannot forge a second record.
    """

    def line(self, facts: dict[str, Any]) -> str:
        head = f"{facts.pop('time')} {facts.pop('level').upper():5} "
        stack = facts.pop("stack", "")
        message = printable(facts.pop("msg"))
        rest = " ".join(f"{name}={_quoted(value)}" for name, value in facts.items())
        tail = "".join(f"\n  {printable(row)}" for row in stack.splitlines())
        return f"{head}{message} {rest}{tail}"


def _quoted(value: object) -> str:
    text = (
        value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    )
    text = printable(text)
    return f'"{text}"' if " " in text or not text else text


FORMATTERS: Final[dict[str, type[logging.Formatter]]] = {
    "json": JsonFormatter,
    "text": TextFormatter,
}
