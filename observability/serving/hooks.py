"""What gunicorn calls: start, workers coming and going, stop. No Django here.

`gunicorn.conf.py` names these functions, so `manage.py serve` and bare gunicorn behave
alike.
"""

import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

import meshmgmt
from meshmgmt import env
from observability import loglevels, logs, metricfiles, settingstext
from observability.loglevels import LEVELS
from observability.serving import listener, runtime
from observability.serving.lifeline import WORKER_SECONDS, Lifeline, Watch
from observability.serving.supervisor import Supervisor

_LOG: Final = logging.getLogger(__name__)


class _Server:
    """What the master keeps between the hooks."""

    claim: runtime.Claim | None = None
    lifeline: Lifeline | None = None
    metrics: socket.socket | None = None
    supervisor: Supervisor | None = None


class _Worker:
    """What a worker keeps between the hooks."""

    watch: Watch | None = None


def metrics_dir(config: env.Config) -> Path:
    """Return the directory of the processes' metric files."""
    return config.runtime_dir / runtime.METRICS


def on_starting(server: Any) -> None:
    """Prepare the runtime directory; refuse to start with one sentence and status 2."""
    config = env.load()
    upgrade = "GUNICORN_PID" in os.environ
    try:
        logs.configure(config)
        if not upgrade:
            # A server that replaces a running one (USR2) shares its files with it.
            _Server.claim = runtime.claim(config.runtime_dir)
            (config.data_dir / "static").mkdir(parents=True, exist_ok=True)
            metricfiles.prepare(metrics_dir(config))
            loglevels.reset(config.runtime_dir)
            _check_bind(server, _patience())
        _Server.metrics = _metrics_socket(config, _patience())
        _announce(config, server)
        settingstext.keep(config)
    except (logs.OutputError, runtime.Occupied, listener.PortTaken) as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(f"the runtime directory {config.runtime_dir} cannot be used: {error}")
    _Server.lifeline = Lifeline()
    os.register_at_fork(after_in_child=_leave_to_master)
    _warn_about_hosts(config)


def _patience() -> float:
    """Return for how many seconds a taken port may be one of a killed server."""
    claim = _Server.claim
    return runtime.PATIENCE_SECONDS if claim and claim.after_kill else 0.0


def _refuse(sentence: str) -> None:
    if _Server.claim is not None:
        _Server.claim.release()
    sys.stderr.write(f"{sentence}\n")
    sys.exit(2)


def _leave_to_master() -> None:
    """Close in a forked child what must end with the master, however it ends."""
    if _Server.claim is not None:
        _Server.claim.drop()
    if _Server.lifeline is not None:
        _Server.lifeline.leave_to_master()
    if _Server.metrics is not None:
        _Server.metrics.close()


def _check_bind(server: Any, patience: float) -> None:
    """Refuse a taken address soon; gunicorn would try for five seconds.

    With listeners handed over by systemd there is nothing to take.
    """
    if "LISTEN_FDS" in os.environ:
        return
    for at in server.cfg.address:
        if isinstance(at, tuple):
            try:
                listener.listen(at[0], at[1], patience).close()
            except OSError as error:
                raise listener.PortTaken(
                    f"{at[0]}:{at[1]} cannot be used ({error.strerror}): choose another "
                    "HOST:PORT, or unix:PATH, with --bind or SVC_BIND"
                ) from error


def _metrics_socket(config: env.Config, patience: float) -> socket.socket | None:
    at = listener.address(config)
    if at is None:
        return None
    host, port = at
    try:
        return listener.listen(host, port, patience)
    except OSError as error:
        sentence = (
            f"metrics port {port} on {host} cannot be used ({error.strerror}): choose "
            "1 to 65535, or off, with --metrics-port or SVC_METRICS_PORT"
        )
        if config.metrics_port_explicit:
            raise listener.PortTaken(sentence) from error
        _LOG.warning("%s; metrics stay on the API port", sentence)
        return None


def _announce(config: env.Config, server: Any) -> None:
    taken = _Server.metrics
    at = "" if taken is None else "{}:{}".format(*taken.getsockname()[:2])
    runtime.announce(
        config.runtime_dir,
        runtime.ServerInfo(
            pid=os.getpid(),
            started=time.time(),
            kind="gunicorn",
            bind=",".join(str(bind) for bind in server.cfg.bind),
            metrics=at,
            workers=server.cfg.workers,
            threads=server.cfg.threads,
            version=meshmgmt.__version__,
        ),
    )


def _warn_about_hosts(config: env.Config) -> None:
    host = config.bind.rpartition(":")[0].strip("[]")
    if config.allowed_hosts or host in {"localhost", ""}:
        return
    try:
        beyond = not ipaddress.ip_address(host).is_loopback
    except ValueError:
        beyond = not config.bind.startswith("unix:")
    if beyond:
        _LOG.warning(
            "bound to %s with SVC_ALLOWED_HOSTS unset: any Host header is accepted",
            config.bind,
        )


def when_ready(server: Any) -> None:
    """Start the housekeeping process, and drain on TERM from now on."""
    assert _Server.lifeline is not None
    config = env.load()
    LEVELS.follow(config.runtime_dir)
    logs.add_spool(config)
    keep_listeners(server)
    _Server.supervisor = Supervisor(
        config, metrics_dir(config), _Server.lifeline, _Server.metrics
    )
    _Server.supervisor.start()
    _install_drain(server, config)


def keep_listeners(server: Any) -> None:
    """Keep the listeners from executed processes; gunicorn makes them inheritable.

    The housekeeping process would hold the API port without ever answering there.
    """
    for listening in server.LISTENERS:
        listening.set_inheritable(False)


def pre_exec(server: Any) -> None:
    """Hand the listeners, and nothing else, to the server that replaces this one."""
    for listening in server.LISTENERS:
        listening.set_inheritable(True)
    if _Server.lifeline is not None:
        os.set_inheritable(_Server.lifeline.reader, False)


def _install_drain(server: Any, config: env.Config) -> None:
    """Let `/readyz` say 503 for the drain time before gunicorn closes its listeners.

    A second TERM ends the wait. In a child that has not set its own handlers yet the
    signal is left to gunicorn's.
    """
    master = os.getpid()
    marker = config.runtime_dir / runtime.DRAINING
    forward = signal.getsignal(signal.SIGTERM)

    def stop() -> None:
        server.SIG_QUEUE.put_nowait(signal.SIGTERM)

    def drain(number: int, frame: FrameType | None) -> None:
        if os.getpid() != master or marker.exists() or config.drain_seconds == 0:
            if callable(forward):
                forward(number, frame)
            return
        try:
            marker.touch()
        except OSError:  # a full disk: there is no way to tell, so stop right away
            stop()
            return
        timer = threading.Timer(config.drain_seconds, stop)
        timer.daemon = True
        timer.start()

    signal.signal(signal.SIGTERM, drain)


def post_fork(server: Any, worker: Any) -> None:
    """End with the master, from the first moment on."""
    del server, worker
    assert _Server.lifeline is not None
    _Worker.watch = Watch(_Server.lifeline.reader, WORKER_SECONDS)
    _Worker.watch.start()


def post_worker_init(worker: Any) -> None:
    """Follow log level changes in a worker whose Django is set up."""
    if worker.age == 1:  # the first of all, and none that replaces another
        print_notices()
    config = env.load()
    LEVELS.follow(config.runtime_dir)
    loglevels.watch()
    logs.add_spool(config)
    logs.write_in_background()
    _load_views()
    if _Worker.watch is not None:
        _Worker.watch.leave = worker.leave


def print_notices() -> None:
    """Say on standard output what rooms have to say at a start."""
    from meshmgmt.core.notices import start_notices  # noqa: PLC0415 - needs the rooms

    for text in start_notices():
        sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _load_views() -> None:
    """Import all views now, or the worker's first request would pay for it."""
    from django.urls import get_resolver  # noqa: PLC0415 - there is none in the master

    get_resolver().url_patterns  # noqa: B018 - a property that imports


def child_exit(server: Any, worker: Any) -> None:
    """Keep what a worker counted, in the one file of all dead ones."""
    del server
    try:
        metricfiles.fold(metrics_dir(env.load()), worker.pid)
    except OSError:
        _LOG.exception("the metrics of worker %s could not be folded", worker.pid)


def on_exit(server: Any) -> None:
    """Stop the housekeeping process and leave no trace of a running server."""
    del server
    config = env.load()
    if _Server.supervisor is not None:
        _Server.supervisor.stop()
    if _Server.claim is not None:
        _Server.claim.release()
    else:
        runtime.forget(config.runtime_dir)
