"""Running commands and writing the logs they read."""

from io import StringIO
from pathlib import Path
from typing import Any

import orjson
from django.core.management import call_command

from meshmgmt.core import clock


def run(*arguments: str, **options: Any) -> tuple[str, int]:
    """Run a command and return what it printed and its exit status."""
    out = StringIO()
    status = 0
    try:
        call_command(*arguments, stdout=out, **options)
    except SystemExit as end:
        status = int(end.code or 0)
    return out.getvalue(), status


def write(path: Path, *events: Any) -> Path:
    """Write one line per event; bytes are written as they are."""
    raw = [
        event if isinstance(event, bytes) else orjson.dumps(event) for event in events
    ]
    path.write_bytes(b"".join(line + b"\n" for line in raw))
    return path


def combined(second: int, path: str = "/") -> bytes:
    """Return a line of nginx's combined log, written today."""
    at = clock.now().strftime("%d/%b/%Y:%H:%M:")
    return (
        f'192.0.2.1 - - [{at}{second:02d} +0000] "GET {path} HTTP/1.1" 200 5 "-" "x"'
    ).encode()
