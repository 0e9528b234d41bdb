"""What gunicorn calls: start, workers coming and going, stop, log. No Django in the master.

`gunicornconf.py` names these functions, so `manage.py serve` and bare gunicorn behave
alike.
"""

import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import Any, Final

from gunicorn.glogging import Logger

import meshmgmt
from meshmgmt import env
from meshmgmt.core import runtime
from meshmgmt.serving.process import bound_requests, follow_levels
from observability.debug import capture
from observability.logs import handlers, loglevels
from observability.metrics import metricfiles

_LOG: Final = logging.getLogger(__name__)
_claim: Final[list[int]] = []
"""The descriptor that marks the master as the running server."""


def on_starting(server: Any) -> None:
    """Prepare the runtime directory; refuse to start with one sentence and status 2."""
    config = env.load()
    try:
        handlers.configure(config)
        _claim.append(runtime.claim(config.runtime_dir))
        metricfiles.forget_dead(config.runtime_dir / runtime.METRICS)
        loglevels.reset(config.runtime_dir)
        capture.keep_settings(config)
        info = runtime.ServerInfo(
            bind=",".join(str(bind) for bind in server.cfg.bind),
            workers=server.cfg.workers,
            threads=server.cfg.threads,
            version=meshmgmt.__version__,
        )
        runtime.announce(config.runtime_dir, info)
    except (handlers.OutputError, runtime.Occupied) as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"the runtime directory {config.runtime_dir} cannot be used: {error}")
    # Only now is it known that the runtime directory, where the spool is, is ours.
    handlers.add_spool(config)
    _warn_about_hosts(config)


def _refuse(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")
    sys.exit(2)


def _warn_about_hosts(config: env.Config) -> None:
    here = config.is_for_this_host or config.bind.startswith("unix:")
    if not config.allowed_hosts and not here:
        _LOG.warning(
            "bound to %s with SVC_ALLOWED_HOSTS unset: any Host header is accepted",
            config.bind,
        )


def when_ready(server: Any) -> None:
    """Let `/readyz` say 503 for the drain time before TERM closes the listeners.

    A second TERM ends the wait.
    """
    del server
    config = env.load()
    master = os.getpid()
    marker = config.runtime_dir / runtime.DRAINING
    stop: Any = signal.getsignal(signal.SIGTERM)

    def drain(number: int, frame: FrameType | None) -> None:
        # A worker has this handler, too, between its fork and gunicorn's own.
        waits = os.getpid() == master and config.drain_seconds and not marker.exists()
        if waits and _touched(marker):
            again = threading.Timer(
                config.drain_seconds, os.kill, (master, signal.SIGTERM)
            )
            again.daemon = True
            again.start()
        else:
            stop(number, frame)

    signal.signal(signal.SIGTERM, drain)


def _touched(marker: Any) -> bool:
    """Return whether the mark could be made; on a full disk nobody can be told."""
    try:
        marker.touch()
    except OSError:
        return False
    return True


def post_fork(server: Any, worker: Any) -> None:
    """Leave the mark of the running server to the master."""
    del server, worker
    # A lock lasts while any process has its descriptor: a worker that outlived its master
    # would look like a running server.
    while _claim:
        os.close(_claim.pop())


def post_worker_init(worker: Any) -> None:
    """Bound what requests do, and follow log levels, in a worker with Django set up."""
    bound_requests()
    if worker.age == 1:  # the first of all, and none that replaces another
        print_notices()
    follow_levels(env.load())
    handlers.write_in_background()
    _load_views()


def print_notices() -> None:
    """Say on standard output what rooms have to say at a start."""
    from meshmgmt.core.rooms import start_notices  # noqa: PLC0415 - needs the rooms

    for notice in start_notices.values():
        if text := notice():
            sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _load_views() -> None:
    """Import all views now, or the worker's first request would pay for it."""
    from django.urls import get_resolver  # noqa: PLC0415 - there is none in the master

    get_resolver().url_patterns  # noqa: B018 - a property that imports


def on_exit(server: Any) -> None:
    del server
    runtime.forget(env.load().runtime_dir)


class MeshLogger(Logger):  # type: ignore[misc]
    """Hands gunicorn's own messages to the root logger; our middleware logs requests."""

    def setup(self, cfg: Any) -> None:
        """Own no outputs; levels and outputs are those of `observability.logs.handlers`."""
        self.cfg = cfg
        self._access_log_enabled = False
        for logger in (self.error_log, self.access_log):
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(logging.NOTSET)

    def access(self, *args: Any) -> None:
        """Do nothing: the response line of the request says it."""

    def reopen_files(self) -> None:
        """Do nothing: our files notice by themselves when their path changes."""

    def close_on_exec(self) -> None:
        """Do nothing: our files are closed on exec."""
