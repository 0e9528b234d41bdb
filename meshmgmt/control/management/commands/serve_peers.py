"""`manage.py serve_peers`: what peers connect to; `serve` starts it by itself."""

import asyncio
import ctypes
import os
import resource
import signal
import sys
from argparse import SUPPRESS, ArgumentParser
from typing import Any, Final

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError

from meshmgmt import env
from meshmgmt.core import runtime
from meshmgmt.serving import children, process
from observability.logs import handlers

STATEMENT_SECONDS: Final = 60
_M_TRIM_THRESHOLD: Final = -1  # mallopt(3)
_M_MMAP_THRESHOLD: Final = -3
_KEPT_BYTES: Final = 64 * 2**20
_LARGEST_MESSAGE: Final = 2**20
NICENESS: Final = 10
"""The API goes first: peers wait for a map more patiently than people for a page."""


class Command(BaseCommand):
    """Serves peers until TERM or Ctrl-C."""

    help = "Serve peers over gRPC: enrolment, network maps, signal, flows, proxies."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--processes",
            metavar="N",
            help="how many share the port, one for each core; more than one needs"
            " PostgreSQL (default: SVC_PEER_PROCESSES, which is 1)",
        )
        parser.add_argument("--number", type=int, help=SUPPRESS)  # one of several
        # Of `serve`, which waits for what is migrated later.
        parser.add_argument("--patient", action="store_true", help=SUPPRESS)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run. Raises CommandError (status 2) when there is nothing to listen on."""
        config = _config(options["processes"])
        if not config.grpc_bind:
            raise CommandError("SVC_GRPC_BIND is off: set HOST:PORT", returncode=2)
        number = options["number"]
        if number is None and config.peer_processes > 1:
            sys.exit(_run_several(config, patient=options["patient"]))
        if not apps.ready:
            process.begin(config)
        process.bound_statements(STATEMENT_SECONDS)
        if not options["patient"]:
            process.require_tables()
        os.nice(NICENESS)
        _allow_many_files()
        _keep_freed_memory()
        asyncio.run(_serve(config, number))


def _config(processes: str | None) -> env.Config:
    environ = dict(os.environ)
    if processes is not None:
        environ[f"{env.PREFIX}PEER_PROCESSES"] = processes
    try:
        return env.load(environ)
    except env.ConfigError as error:
        raise CommandError("\n".join(error.problems), returncode=2) from error


def _run_several(config: env.Config, *, patient: bool) -> int:
    """Keep so many of these processes running on one port. Raises CommandError."""
    if not config.database_url.startswith("postgres"):
        raise CommandError(
            "several processes for peers need PostgreSQL, by which they tell each other"
            " of streams and signals; with SQLite there is one",
            returncode=2,
        )
    handlers.configure(config)
    words = ["--patient"] if patient else []
    command = [*children.MANAGE, "serve_peers", *words, "--number"]
    commands = [[*command, str(n)] for n in range(config.peer_processes)]
    return children.run(commands, os.environ)


async def _serve(config: env.Config, number: int | None) -> None:
    from meshmgmt.control.server import figures  # noqa: PLC0415 - needs the apps
    from meshmgmt.control.server.server import CannotListen, PeerServer  # noqa: PLC0415 - needs the apps

    stopping, leave_now = asyncio.Event(), asyncio.Event()

    def stop() -> None:
        # A second TERM ends the drain.
        if stopping.is_set():
            leave_now.set()
        stopping.set()

    def interrupt() -> None:
        leave_now.set()
        stopping.set()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop)
    loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        name = f"{figures.name_of(number)}.lock"
        runtime.lock(config.runtime_dir, name, "a process that serves peers")
        figures.forget_dead(config.runtime_dir)
        await PeerServer(config, number).run(stopping, leave_now)
    except (CannotListen, runtime.Occupied) as error:
        raise CommandError(str(error), returncode=2) from error


def _allow_many_files() -> None:
    """Raise the limit of open files as far as allowed: every peer has a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _keep_freed_memory() -> None:
    """Have glibc use memory again for the next message: new pages cost time."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # other libraries have none
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST_MESSAGE)
