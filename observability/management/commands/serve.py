"""`manage.py serve`: gunicorn with the top-level configuration; flags win over `SVC_*`."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from meshmgmt import env
from observability.serving.flags import add_flags, environ_of


class Command(BaseCommand):
    """Replaces this process by gunicorn."""

    help = "Serve the API, the admin site and the metrics."
    requires_system_checks: list[str] = []  # the workers check

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        add_flags(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Execute gunicorn. Raises CommandError (status 2) for unusable values."""
        environ = environ_of(options)
        command = [sys.executable, "-m", "gunicorn", "-c"]
        command.append(str(env.BASE_DIR / "gunicorn.conf.py"))
        os.chdir(env.BASE_DIR)
        os.execve(sys.executable, command, environ)  # noqa: S606 - our own interpreter
