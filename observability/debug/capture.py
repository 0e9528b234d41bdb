"""Answers kept during a debug run, for its bundle.

Whatever computes an answer worth keeping calls `keep()`; outside of a debug run that
costs one comparison.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from meshmgmt.core import context
from observability.logs import redaction
from observability.logs.loglevels import LEVELS

FILE: Final = "served.ndjson"
LIMIT: Final = 64 * 2**20
_LOG: Final = logging.getLogger(__name__)


def keep(kind: str, key: str, document: Callable[[], Any]) -> None:
    """Keep an answer of some `kind` about `key` (a peer, say), if one is wanted.

    `document` returns something JSON can hold, and is called only then. A full disk or
    a capture of more than 64 MiB loses answers, with a warning, and never a request.
    """
    directory = LEVELS.runtime_dir
    if directory is None or time.time() >= LEVELS.control.capture_until:
        return
    record = {
        "time": time.time(),
        "request_id": context.current().request_id,
        "kind": kind,
        "key": key,
        "answer": redaction.value(document()),
    }
    try:
        _append(directory / FILE, json.dumps(record).encode() + b"\n")
    except OSError as error:
        _LOG.warning("an answer could not be kept for the debug run: %s", error)


def _append(path: Path, line: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # Asked of the file: all workers write to it.
        if os.fstat(descriptor).st_size + len(line) > LIMIT:
            _LOG.warning("the debug run has kept 64 MiB of answers and keeps no more")
        else:
            # One write with O_APPEND: lines of several workers never mix.
            os.write(descriptor, line)
    finally:
        os.close(descriptor)


def take(runtime_dir: Path) -> str:
    """Return what was kept, as one JSON record per line."""
    try:
        return (runtime_dir / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""


@contextmanager
def emptied(runtime_dir: Path) -> Iterator[None]:
    """Run a block that begins with nothing kept and leaves nothing, however it ends."""
    path = runtime_dir / FILE
    path.unlink(missing_ok=True)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
