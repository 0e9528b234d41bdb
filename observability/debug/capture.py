"""What a server leaves for bundles: its settings, and answers kept during a debug run.

Whatever computes an answer worth keeping calls `keep()`; outside of a debug run that
costs one comparison. No Django is needed here: gunicorn's master has none.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from meshmgmt.core import context, runtime
from meshmgmt.env import PREFIX, SECRETS, Config
from observability.logs import redaction
from observability.logs.loglevels import LEVELS

FILE: Final = "served.ndjson"
LIMIT: Final = 64 * 2**20
SETTINGS_FILE: Final = "settings.txt"
# An address keeps its host and name: only the password in it is secret.
_ADDRESSES: Final = {"database_url", "database_pooler_url", "database_replica_url"}
_HIDDEN: Final = {name.lower() for name in SECRETS} - _ADDRESSES
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


def described(config: Config) -> str:
    """Return the settings as text; secrets hidden."""
    lines = []
    for field in fields(config):
        value = getattr(config, field.name)
        if field.name in _HIDDEN and value:
            value = redaction.HIDDEN
        shown = redaction.text(str(value))
        lines.append(f"{PREFIX}{field.name.upper()}={shown}\n")
    return "".join(lines)


def keep_settings(config: Config) -> None:
    """Leave the server's settings where other processes find them."""
    (config.runtime_dir / SETTINGS_FILE).write_text(described(config), encoding="utf-8")


def settings_text(config: Config) -> str:
    """Return the running server's settings, without one those of this process."""
    path = config.runtime_dir / SETTINGS_FILE
    if runtime.running(config.runtime_dir) is None or not path.exists():
        return described(config)
    return path.read_text(encoding="utf-8") or described(config)
