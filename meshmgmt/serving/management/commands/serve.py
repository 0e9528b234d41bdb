"""`manage.py serve`: all processes of the service; flags win over `SVC_*`."""

import sys
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from meshmgmt import env
from meshmgmt.serving import children
from meshmgmt.serving.flags import add_flags, environ_of
from observability.logs import handlers

_GUNICORN: Final = [sys.executable, "-m", "gunicorn"]
PROCESSES: Final = (
    [*_GUNICORN, "-c", "python:meshmgmt.serving.gunicornconf"],
    [*children.MANAGE, "housekeeping"],
)
"""The commands; a unit of `deploy/systemd` runs each of them in production."""
PEERS: Final = [*children.MANAGE, "serve_peers", "--patient"]
"""One more, unless `SVC_GRPC_BIND` is off."""
MEMORY: Final = {"MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": "1048576"}
"""glibc would keep an arena for each thread, and in each what a large answer took once."""


class Command(BaseCommand):
    """Starts the processes and starts them again when they end."""

    help = "Serve the API, the admin site and the metrics."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_flags(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop. Raises CommandError (status 2) for unusable values."""
        environ = environ_of(options)
        config = env.load(environ)
        try:
            handlers.configure(config)
        except handlers.OutputError as error:
            raise CommandError(str(error), returncode=2) from error
        peers = [PEERS] if config.grpc_bind else []
        sys.exit(children.run([*PROCESSES, *peers], {**MEMORY, **environ}))
