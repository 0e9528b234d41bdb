"""Ends the processes of a server when its master dies, however it dies.

The master alone keeps the writing end of a pipe; the processes it starts wait at the
reading end. Nobody ever writes: the end of the file is the end of the master. Comparing
parent ids instead misses a master that died before the first look. No Django.
"""

import os
import threading
import time
from collections.abc import Callable
from typing import Final

WORKER_SECONDS: Final = 2.0
"""How long a worker may go on with its requests. Its port is free at once."""

HOUSEKEEPING_SECONDS: Final = 0.5
"""How long the housekeeping process may; it keeps the metrics port meanwhile."""


class Lifeline:
    """The pipe, in the master."""

    def __init__(self) -> None:
        self.reader, self._writer = os.pipe()

    def leave_to_master(self) -> None:
        """Close the writing end; each forked child must, or nobody sees the end."""
        os.close(self._writer)


class Watch(threading.Thread):
    """Waits for the master's end, then ends this process.

    At once, or `patience` seconds after calling `leave` once there is one. `leave` runs
    in this thread and must not block. It makes the process end by itself, if it can.
    """

    def __init__(self, reader: int, patience: float) -> None:
        super().__init__(name="lifeline", daemon=True)
        self.leave: Callable[[], None] | None = None
        self._reader = reader
        self._patience = patience

    def run(self) -> None:
        """Wait; nothing that fails in between keeps the process alive."""
        try:
            os.read(self._reader, 1)
            if self.leave is not None:
                self.leave()
                time.sleep(self._patience)
        finally:
            # Not sys.exit(): that would wait for requests in threads.
            os._exit(0)
