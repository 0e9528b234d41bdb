"""`manage.py serve_peers`: what peers connect to; `serve` starts it by itself."""

import asyncio
import os
import resource
import signal
from typing import Any, Final

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError

from meshmgmt import env
from meshmgmt.core import runtime
from meshmgmt.serving import process

NICENESS: Final = 10
"""The API goes first: peers wait for a map more patiently than people for a page."""


class Command(BaseCommand):
    """Serves peers until TERM or Ctrl-C."""

    help = "Serve peers over gRPC: enrolment, network maps, signal, flows, proxies."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        """Run. Raises CommandError (status 2) when there is nothing to listen on."""
        config = env.load()
        if not config.grpc_bind:
            raise CommandError("SVC_GRPC_BIND is off: set HOST:PORT", returncode=2)
        if not apps.ready:
            process.begin(config)
        os.nice(NICENESS)
        _allow_many_files()
        asyncio.run(_serve(config))


async def _serve(config: env.Config) -> None:
    from meshmgmt.control.server.figures import LOCK  # noqa: PLC0415 - needs the apps
    from meshmgmt.control.server.server import CannotListen, PeerServer  # noqa: PLC0415 - needs the apps

    stopping, leave_now = asyncio.Event(), asyncio.Event()

    def stop() -> None:
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
        runtime.lock(config.runtime_dir, LOCK, "a process that serves peers")
        await PeerServer(config).run(stopping, leave_now)
    except (CannotListen, runtime.Occupied) as error:
        raise CommandError(str(error), returncode=2) from error


def _allow_many_files() -> None:
    """Raise the limit of open files as far as allowed: every peer has a connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
