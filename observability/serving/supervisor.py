"""Keeps the one housekeeping process of a server alive."""

import logging
import subprocess
import sys
import threading
from pathlib import Path
from socket import socket
from typing import Final

from meshmgmt.env import BASE_DIR, Config
from observability import metricfiles

_LOG: Final = logging.getLogger(__name__)
_LONGEST_PAUSE: Final = 30.0
_STOP_SECONDS: Final = 5.0
_POLL: Final = 0.5


class Supervisor(threading.Thread):
    """Starts `manage.py housekeeping` and starts it again when it ends.

    A thread of gunicorn's master: gunicorn has no hook for children it does not know.
    The process is executed, not forked, so it inherits nothing but the metrics socket.
    """

    def __init__(
        self, config: Config, metrics_dir: Path, metrics: socket | None
    ) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self.config = config
        self.metrics_dir = metrics_dir
        self.metrics = metrics
        self.stopping = threading.Event()

    def run(self) -> None:
        """Keep the process running until `stop()`."""
        pause = 1.0
        while not self.stopping.is_set():
            process = self._start()
            while process.poll() is None:
                if self.stopping.wait(_POLL):
                    self._end(process)
                    return
                pause = max(1.0, pause - _POLL / 10)
            self._fold(process.pid)
            _LOG.error("housekeeping process %s ended; starting another", process.pid)
            self.stopping.wait(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, str(BASE_DIR / "manage.py"), "housekeeping"]
        inherited: tuple[int, ...] = ()
        if self.metrics is not None:
            inherited = (self.metrics.fileno(),)
            command += ["--metrics-fd", str(self.metrics.fileno())]
        return subprocess.Popen(command, pass_fds=inherited)  # noqa: S603 - our own program

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()

    def _fold(self, pid: int) -> None:
        try:
            metricfiles.fold(self.metrics_dir, pid)
        except OSError:
            _LOG.exception("the metrics of process %s could not be folded", pid)

    def stop(self) -> None:
        """End the process and the thread."""
        self.stopping.set()
        self.join(_STOP_SECONDS + 1)
