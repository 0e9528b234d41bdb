"""A timed debug run: trace level and kept answers for a while, then a bundle."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from django.core.management.base import CommandError
from tqdm import tqdm

from meshmgmt.core import durations, filelock
from meshmgmt.env import Config
from observability.debug import bundle, capture
from observability.debug.bundle import Builder
from observability.logs import loglevels
from observability.logs.levelcontrol import require_server
from observability.logs.loglevels import Rule

LOCK: Final = "debug.lock"
MARGIN_SECONDS: Final = 30
"""How long the level outlives a run that was killed."""


def run(
    config: Config, seconds: int, directory: Path, *, anonymised: bool, quiet: bool
) -> Path:
    """Watch the server for `seconds` and return the path of the bundle.

    The level is restored whatever happens: interrupted, at once; killed, by the rule's
    own expiry. Raises CommandError when there is no server, or another run is on.
    """
    require_server(config)
    with _alone(config), _terminable(), capture.emptied(config.runtime_dir):
        builder = Builder(config, anonymised=anonymised)
        until = time.time() + seconds
        # It ends by itself, whatever becomes of this process.
        rule = Rule("trace", expires=until + MARGIN_SECONDS)
        loglevels.add(config.runtime_dir, rule, capture_until=until)
        try:
            builder.collect(
                list(bundle.registered("start/", at_start=True)), progress=False
            )
            _wait(until, quiet=quiet)
        finally:
            loglevels.remove(config.runtime_dir, rule.id)
        wanted = [
            *bundle.sections(config),
            *bundle.registered("end/"),
            bundle.served(config),
        ]
        builder.collect(wanted, progress=not quiet)
        notes = [f"Level trace was in force for {durations.write(seconds)}."]
        return builder.write(directory, notes)


def _wait(until: float, *, quiet: bool) -> None:
    pause = threading.Event()
    total = max(0, round(until - time.time()))
    with tqdm(
        total=total, desc="level trace", unit="s", disable=quiet, file=sys.stderr
    ) as bar:
        while (left := until - time.time()) > 0:
            pause.wait(min(1.0, left))
            bar.update(total - max(0, round(until - time.time())) - bar.n)


@contextmanager
def _alone(config: Config) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(filelock.locked(config.runtime_dir / LOCK, wait=0))
        except filelock.Locked:
            raise CommandError("another debug run is on: wait for it to end") from None
        yield


@contextmanager
def _terminable() -> Iterator[None]:
    """Let TERM end the run as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # Signals are for the main thread, in which tests need not be.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        with suppress(ValueError):
            signal.signal(signal.SIGTERM, before)


def bundle_now(
    config: Config, directory: Path, *, anonymised: bool, quiet: bool
) -> Path:
    """Make a bundle of what is there, also without a running server."""
    builder = Builder(config, anonymised=anonymised)
    wanted = [*bundle.sections(config), *bundle.registered()]
    builder.collect(wanted, progress=not quiet)
    return builder.write(directory, [])
