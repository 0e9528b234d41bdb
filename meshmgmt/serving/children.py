"""Child processes of a command: started, started again, stopped together.

In production systemd does this, with a unit for each process.
"""

import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from types import FrameType
from typing import Final

from meshmgmt.env import BASE_DIR, IS_CHECKOUT

_LOG: Final = logging.getLogger(__name__)
MANAGE: Final = (
    [sys.executable, str(BASE_DIR / "manage.py")]
    if IS_CHECKOUT
    else [sys.executable, "-P", "-m", "meshmgmt"]
)
"""Begins the commands of our own that are run as children."""
POLL_SECONDS: Final = 0.2
FIRST_SECONDS: Final = 30.0
"""A child that fails so soon after its first start could not be started at all."""
LONGEST_PAUSE: Final = 30.0
STOP_SECONDS: Final = 60.0
_PR_SET_PDEATHSIG: Final = 1


def _end_with_parent() -> None:
    """Ask Linux for TERM when the parent dies, however it does (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Child:
    """One process, in a process group of its own."""

    def __init__(self, command: Sequence[str], environ: Mapping[str, str]) -> None:
        self.command = command
        self.environ = environ
        self.pause = 1.0
        self.first = True
        self.start()

    def start(self) -> None:
        self.begun = monotonic()
        self.due = 0.0
        self.process = subprocess.Popen(  # noqa: S603 - commands of our own
            self.command,
            cwd=BASE_DIR if IS_CHECKOUT else None,
            env=self.environ,
            # Ctrl-C in a terminal reaches a whole group; the children get theirs from us.
            process_group=0,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - there is one thread
        )

    def look(self) -> int | None:
        """Start the process again when it is due; return the status of a failed start."""
        status = self.process.poll()
        if status is None:
            return None
        if self.due:
            if monotonic() >= self.due:
                self.start()
            return None
        self.send(signal.SIGKILL)  # what it leaves behind, as systemd does
        lived = monotonic() - self.begun
        # Below 0 it was a signal, and an end by status 0 is no fault of what we were told.
        if self.first and status > 0 and lived < FIRST_SECONDS:
            return status
        self.first = False
        self.pause = 1.0 if lived > LONGEST_PAUSE else self.pause
        self.due = monotonic() + self.pause
        text = "%s (process %s) ended with status %s; starting it again in %.0f s"
        name = " ".join(self.command[1:])
        _LOG.error(text, name, self.process.pid, status, self.pause)
        self.pause = min(2 * self.pause, LONGEST_PAUSE)
        return None

    def send(self, number: int) -> None:
        """Send a signal; KILL to the whole group."""
        with suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(self.process.pid, number)
            else:
                self.process.send_signal(number)

    def wait(self, deadline: float) -> None:
        """Wait for the end, and bring it about at the deadline."""
        try:
            self.process.wait(max(0.0, deadline - monotonic()))
        except subprocess.TimeoutExpired:
            self.send(signal.SIGKILL)
            self.process.wait()


def run(commands: Sequence[Sequence[str]], environ: Mapping[str, str]) -> int:
    """Keep the processes running until TERM, INT or QUIT, which they get too.

    Returns 0 then, or the status of a child that could not be started.
    """
    stopping = threading.Event()
    children = [Child(command, environ) for command in commands]

    def stop(number: int, frame: FrameType | None) -> None:
        del frame
        stopping.set()
        for child in children:  # a terminal that closes must not reload gunicorn
            child.send(signal.SIGTERM if number == signal.SIGHUP else number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, stop)
    status = None
    while status is None and not stopping.wait(POLL_SECONDS):
        status = next(filter(None, (child.look() for child in children)), None)
    if status is not None:
        stop(signal.SIGTERM, None)
    deadline = monotonic() + STOP_SECONDS
    for child in children:
        child.wait(deadline)
    return status or 0
