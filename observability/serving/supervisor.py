"""Keeps the one housekeeping process of a server alive."""

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path
from socket import socket
from typing import Final

from meshmgmt.env import BASE_DIR, Config
from observability import metricfiles
from observability.serving.lifeline import Lifeline

_LOG: Final = logging.getLogger(__name__)
_LONGEST_PAUSE: Final = 30.0
_STOP_SECONDS: Final = 5.0
_POLL: Final = 0.5


class Child:
    """A process executed beside gunicorn's workers.

    `subprocess` waits for a pipe to close that a worker forked at the same moment holds
    open, and then hangs until that worker ends; posix_spawn has no such pipe.
    """

    def __init__(self, command: list[str]) -> None:
        self.pid = os.posix_spawn(command[0], command, os.environ)

    def ended(self) -> bool:
        """Tell whether the process is gone; gunicorn may have reaped it before us."""
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except ChildProcessError:
            return True

    def end(self, patience: float) -> None:
        """Ask the process to stop, and make it after `patience` seconds."""
        deadline = time.monotonic() + patience
        number = signal.SIGTERM
        while not self.ended():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return
            if time.monotonic() > deadline:
                number = signal.SIGKILL
            time.sleep(0.05)


class Supervisor(threading.Thread):
    """Starts `manage.py housekeeping` and starts it again when it ends.

    A thread of gunicorn's master: gunicorn has no hook for children it does not know.
    The process is executed, not forked, so it inherits what is marked for it and nothing
    else: the reading end of the lifeline and the metrics socket.
    """

    def __init__(
        self,
        config: Config,
        metrics_dir: Path,
        lifeline: Lifeline,
        metrics: socket | None,
    ) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self.config = config
        self.metrics_dir = metrics_dir
        self.stopping = threading.Event()
        self.command = [sys.executable, str(BASE_DIR / "manage.py"), "housekeeping"]
        os.set_inheritable(lifeline.reader, True)
        self.command += ["--lifeline-fd", str(lifeline.reader)]
        if metrics is not None:
            metrics.set_inheritable(True)
            self.command += ["--metrics-fd", str(metrics.fileno())]

    def run(self) -> None:
        """Keep the process running until `stop()`."""
        pause = 1.0
        while not self.stopping.is_set():
            child = Child(self.command)
            while not child.ended():
                if self.stopping.wait(_POLL):
                    child.end(_STOP_SECONDS)
                    return
                pause = max(1.0, pause - _POLL / 10)
            self._fold(child.pid)
            _LOG.error("housekeeping process %s ended; starting another", child.pid)
            self.stopping.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _fold(self, pid: int) -> None:
        try:
            metricfiles.fold(self.metrics_dir, pid)
        except OSError:
            _LOG.exception("the metrics of process %s could not be folded", pid)

    def stop(self) -> None:
        """End the process and the thread."""
        self.stopping.set()
        self.join(_STOP_SECONDS + 1)
