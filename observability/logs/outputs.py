"""Outputs of the log: streams, syslog, files that processes share; a thread that writes."""

import errno
import io
import logging
import logging.handlers
import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO, Final, TextIO, cast

from meshmgmt.core.locks import locked

_COMPLAIN_EVERY: Final = 60.0


class OutputError(Exception):
    """An output that cannot be used; the text names it and says why."""


class Reporting(logging.Handler):
    """Counts records that could not be written, and says so once a minute.

    A log that fails must neither fail the request nor fall silent.
    """

    _complained = 0.0

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Count the lost record; `sys.exc_info()` holds the reason."""
        _count_lost()
        now = time.monotonic()
        # 0 is never: on a host just started the clock is below a minute.
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


class StreamOutput(Reporting, logging.StreamHandler[TextIO]):
    """Standard error or output."""


class _Whole(io.FileIO):
    """Writes all that it is given, or raises OSError.

    A part that a full disk took stands alone: what comes next begins a line.
    """

    _in_line = False

    def write(self, data: Any) -> int:
        """Write in one call, so that lines of several processes never mix."""
        line = b"\n" + bytes(data) if self._in_line else bytes(data)
        # Also when nothing of it goes: another process may have left a part.
        self._in_line = True
        if super().write(line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._in_line = False
        return len(data)


class LogFile(Reporting, logging.handlers.WatchedFileHandler):
    """A file appended to by several processes, which logrotate may rename.

    Each record is one write with O_APPEND, so lines never mix. A renamed file is left at
    the next look at the path.
    """

    look_every = 0.1
    """Seconds between two looks: each lets other threads in."""

    def __init__(self, path: Path) -> None:
        self._next_look = 0.0
        self.path = path
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self.name = str(path)

    def _open(self) -> io.TextIOWrapper:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        raw = _Whole(os.open(self.path, flags, 0o640), "a")
        # Nothing is kept back: what a full disk refused must not be written later.
        return io.TextIOWrapper(
            cast("BinaryIO", raw),
            encoding=self.encoding,
            errors=self.errors,
            write_through=True,
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; called under the handler's lock."""
        try:
            super().emit(record)
        except OSError:  # no file can be made at the path
            self.handleError(record)

    def reopenIfNeeded(self) -> None:  # noqa: N802 - logging's name
        """Look at the path, unless that was a moment ago."""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + self.look_every
            self._look()

    def _look(self) -> None:
        super().reopenIfNeeded()


class Spool(LogFile):
    """Recent records: a full file becomes the older half, in place of the one before."""

    limit = 5 * 2**20

    def _look(self) -> None:
        with suppress(OSError):
            if self._is_full():
                # Looked at again below: another process may have been faster.
                with locked(f"{self.path}.lock"):
                    if self._is_full():
                        self.path.replace(f"{self.path}.1")
        super()._look()

    def _is_full(self) -> bool:
        return self.path.stat().st_size > self.limit


class SyslogOutput(Reporting, logging.handlers.SysLogHandler):
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
        return LogFile(Path(target))
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
                # It is there, but a socket of the other kind.
                if error.errno != errno.EPROTOTYPE or kind == socket.SOCK_STREAM:
                    raise
            else:
                return


FLUSH_SECONDS: Final = 1.0
_URGENT: Final = logging.WARNING


class Background(Reporting):
    """Hands records to a writing thread that feeds the outputs, in order.

    So requests never wait for an output. Each write lets other threads run; a request that
    writes twice waits twice for its next turn, holding the output's lock meanwhile, which
    cost a busy worker a fifth of its requests. Here a request formats its record and goes
    on. What is worse than info is written before the call returns: it may be the last thing
    a process says.
    """

    def __init__(self, outputs: Sequence[logging.Handler]) -> None:
        super().__init__()
        self.outputs = tuple(outputs)
        self.name = ", ".join(str(output.name) for output in outputs)
        self._queue: SimpleQueue[logging.LogRecord | threading.Event] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def handle(self, record: logging.LogRecord) -> bool:
        """Take one record; unlike the library's, without a lock."""
        if not self.filter(record):
            return False
        self.emit(record)
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Format here, where the request's facts are known; write there."""
        try:
            for output in self.outputs:
                output.format(record)  # kept in the record
            self._queue.put(record)
            if record.levelno >= _URGENT:
                self.flush()
        except Exception:  # a log call must not fail its caller
            self.handleError(record)

    def _write(self) -> None:
        while True:
            item = self._queue.get()
            if isinstance(item, threading.Event):
                item.set()
                continue
            for output in self.outputs:
                output.handle(item)

    def flush(self) -> None:
        """Wait until all that was taken is written, for a second at most."""
        if threading.current_thread() is self._thread:
            return
        written = threading.Event()
        self._queue.put(written)
        written.wait(FLUSH_SECONDS)

    def close(self) -> None:
        """Write what is left, and close the outputs."""
        self.flush()
        for output in self.outputs:
            output.close()
        super().close()
