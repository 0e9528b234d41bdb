"""Records written by a thread of their own, so that requests never wait for an output.

Each write lets other threads run; a request that writes twice waits twice for its next
turn, holding the output's lock meanwhile, which cost a busy worker a fifth of its
requests. Here a request formats its record and goes on. What is worse than info is
written before the call returns: it may be the last thing a process says.
"""

import logging
import threading
from collections.abc import Sequence
from queue import SimpleQueue
from typing import Final

from observability.logs.outputs import Reporting

FLUSH_SECONDS: Final = 1.0
_URGENT: Final = logging.WARNING


class Background(Reporting):
    """Hands records to a writing thread that feeds the outputs, in order."""

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
