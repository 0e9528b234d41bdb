"""Django's development server, known to `log_level` and `status` as a real one is."""

import os
import time
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.runserver import Command as RunserverCommand

import meshmgmt
from observability import loglevels, logs
from observability.loglevels import LEVELS
from observability.serving import hooks, runtime


class Command(RunserverCommand):
    """One process: metrics are its own, and there are no housekeeping jobs.

    Based on Django's plain command: WhiteNoise serves the static files here too.
    """

    def inner_run(self, *args: Any, **options: Any) -> None:
        """Serve, in the process that the reloader watches."""
        config = settings.SVC
        try:
            claim = runtime.claim(config.runtime_dir)
        except runtime.Occupied as error:
            raise CommandError(str(error), returncode=2) from error
        loglevels.reset(config.runtime_dir)
        hooks.print_notices()
        runtime.announce(
            config.runtime_dir,
            runtime.ServerInfo(
                pid=os.getpid(),
                started=time.time(),
                kind="runserver",
                bind="{addr}:{port}".format_map(vars(self)),
                metrics="",
                workers=1,
                threads=0,
                version=meshmgmt.__version__,
            ),
        )
        LEVELS.follow(config.runtime_dir)
        loglevels.watch()
        logs.add_spool(config)
        try:
            super().inner_run(*args, **options)
        finally:
            claim.release()
