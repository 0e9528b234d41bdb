"""Outputs of the log: streams, syslog, and files that several processes share."""

import errno
import fcntl
import logging
import logging.handlers
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from observability.logs import loglevels

ROTATE_AT: Final = 15 * 2**20
"""Bytes at which a file is rotated (decisions, Outputs)."""
KEEP: Final = 5
_COMPLAIN_EVERY: Final = 60.0


class OutputError(Exception):
    """An output that cannot be used; the text names it and says why."""


class _Reporting(logging.Handler):
    """Counts records that could not be written, and says so once a minute.

    A log that fails must neither fail the request nor fall silent.
    """

    _complained = 0.0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Count the lost record; `sys.exc_info()` holds the reason."""
        _count_lost()
        now = time.monotonic()
        if now - self._complained < _COMPLAIN_EVERY and self._complained:
            return
        self._complained = now
        with suppress(OSError, ValueError):
            sys.stderr.write(f"log output {self.name}: {sys.exc_info()[1]}\n")


def _count_lost() -> None:
    """Count a lost record, where the metrics are loaded: gunicorn's master has none.

    A record may be lost while they are being loaded, so their module is only looked at.
    """
    loaded = sys.modules.get("observability.metrics.instruments")
    counter = getattr(loaded, "counter", None)
    if counter is not None:
        counter("mesh.log.write.errors.total").inc()


class StreamOutput(_Reporting, logging.StreamHandler[TextIO]):
    """Standard error or output."""


class SharedFile(_Reporting):
    """A file appended to by several processes.

    Each record is one write with O_APPEND, so lines never mix. Whoever finds the file
    at its limit rotates it under a lock on the file itself; the others notice that the
    path names another file and reopen it, as they do after an external logrotate.
    """

    terminator = "\n"
    look_every = 0.1
    """Seconds between two looks at the path: each lets other threads in."""

    def __init__(self, path: Path, limit: int = ROTATE_AT, keep: int = KEEP) -> None:
        super().__init__()
        self.path = path
        self.limit = limit
        self.keep = keep
        self.name = str(path)
        self._next_look = 0.0
        self._descriptor = self._open()
        self._inode = os.fstat(self._descriptor).st_ino

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        return os.open(self.path, flags, 0o640)

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; called under the handler's lock."""
        try:
            line = (self.format(record) + self.terminator).encode()
            self._follow_path(len(line))
            os.write(self._descriptor, line)
        except Exception:
            self.handleError(record)

    def _follow_path(self, coming: int) -> None:
        if self._descriptor < 0:
            self._descriptor = self._open()
            self._inode = os.fstat(self._descriptor).st_ino
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + self.look_every
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._reopen()
            return
        if found.st_ino != self._inode:
            self._reopen()
        elif found.st_size + coming > self.limit and found.st_size:
            self._rotate(coming)

    def _reopen(self) -> None:
        fresh = self._open()
        os.close(self._descriptor)
        self._descriptor = fresh
        self._inode = os.fstat(fresh).st_ino

    def _rotate(self, coming: int) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        # Without a file at the path, another process is between moving the old one
        # away and making the new one.
        try:
            found = self.path.stat()
            if found.st_ino == self._inode and found.st_size + coming > self.limit:
                self._shift()
        except FileNotFoundError:
            pass
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._reopen()

    def _shift(self) -> None:
        for number in range(self.keep - 1, 0, -1):
            with suppress(FileNotFoundError):
                Path(f"{self.path}.{number}").replace(f"{self.path}.{number + 1}")
        self.path.replace(f"{self.path}.1")

    def close(self) -> None:
        """Close the file; closing again is fine.

        `logging.config` closes handlers it does not know. Closing the same number twice
        would close whatever file or socket has it by then.
        """
        super().close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


class SyslogOutput(_Reporting, logging.handlers.SysLogHandler):
    """The local syslog daemon; severities follow RFC 5424."""

    append_nul = False
    ident = "meshmgmt: "

    def mapPriority(self, levelName: str) -> str:  # noqa: N802, N803 - logging's names
        return _SEVERITY.get(levelName, "warning")


_SEVERITY: Final = {
    "TRACE": "debug",
    "DEBUG": "debug",
    "INFO": "info",
    "WARNING": "warning",
    "ERROR": "err",
    "CRITICAL": "crit",
    "PANIC": "alert",
}


def open_output(target: str, *, syslog_address: str) -> logging.Handler:
    """Return the handler of one `--log-file` value.

    `console` and `service` are standard error. Raises OutputError naming the target.
    """
    if target in {"console", "service"}:
        return _named(StreamOutput(sys.stderr), target)
    if target == "stdout":
        return _named(StreamOutput(sys.stdout), target)
    if target == "syslog":
        return _syslog(syslog_address)
    try:
        return SharedFile(Path(target))
    except OSError as error:
        raise OutputError(
            f"log output {target!r} is not writable ({error.strerror}): use console, "
            "stdout, syslog or the path of a file that can be written"
        ) from error


def _named(handler: logging.Handler, name: str) -> logging.Handler:
    handler.name = name
    return handler


def _syslog(address: str) -> logging.Handler:
    host, separator, port = address.rpartition(":")
    at: str | tuple[str, int] = address
    if separator and port.isdecimal() and "/" not in address:
        at = (host.strip("[]"), int(port))
    try:
        if isinstance(at, str):
            _probe(at)
        return _named(SyslogOutput(at, facility="daemon"), "syslog")
    except OSError as error:
        raise OutputError(
            f"log output 'syslog': no syslog daemon at {address!r} ({error.strerror}): "
            "set SVC_SYSLOG_ADDRESS to its socket or HOST:PORT"
        ) from error


def _probe(path: str) -> None:
    """Connect once: the library's handler swallows a missing daemon. Raises OSError."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_UNIX, kind) as probe:
            try:
                probe.connect(path)
            except OSError as error:
                if error.errno != errno.EPROTOTYPE or kind == socket.SOCK_STREAM:
                    raise
            else:
                return


loglevels.register()
