"""Django's development server, known to `log_level` and `status` as a real one is."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands.runserver import Command as RunserverCommand

import meshmgmt
from meshmgmt.core import runtime
from meshmgmt.serving import hooks
from meshmgmt.serving.process import follow_levels
from observability.logs import loglevels


class Command(RunserverCommand):
    """One process: metrics are its own, and there are no housekeeping jobs.

    Based on Django's plain command: WhiteNoise serves the static files here too.
    """

    def inner_run(self, *args: Any, **options: Any) -> None:
        """Serve, in the process that the reloader watches."""
        runtime_dir = settings.SVC.runtime_dir
        try:
            runtime.claim(runtime_dir)
        except runtime.Occupied as error:
            raise CommandError(str(error), returncode=2) from error
        loglevels.reset(runtime_dir)
        hooks.print_notices()
        bind = "{addr}:{port}".format_map(vars(self))
        info = runtime.ServerInfo(bind=bind, workers=1, version=meshmgmt.__version__)
        runtime.announce(runtime_dir, info)
        follow_levels(settings.SVC)
        try:
            super().inner_run(*args, **options)
        finally:
            runtime.forget(runtime_dir)
