"""`manage.py serve`: gunicorn with the top-level configuration; flags win over `SVC_*`."""

import os
import sys
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from meshmgmt import env

_FLAGS: Final = {
    "bind": "BIND",
    "workers": "WORKERS",
    "threads": "THREADS",
    "metrics_port": "METRICS_PORT",
    "log_level": "LOG_LEVEL",
}


class Command(BaseCommand):
    """Replaces this process by gunicorn."""

    help = "Serve the API, the admin site and the metrics."
    requires_system_checks: list[str] = []  # the workers check

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags; values are checked as the variables are."""
        parser.add_argument("--bind", metavar="HOST:PORT|unix:PATH")
        parser.add_argument("--workers", metavar="N")
        parser.add_argument("--threads", metavar="N")
        parser.add_argument("--metrics-port", metavar="N|off")
        parser.add_argument("--log-level", metavar="LEVEL")
        parser.add_argument(
            "--log-file",
            action="append",
            metavar="FILE",
            help="console, stdout, syslog or a path; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Execute gunicorn. Raises CommandError (status 2) for unusable values."""
        environ = dict(os.environ)
        for option, variable in _FLAGS.items():
            if options[option] is not None:
                environ[f"{env.PREFIX}{variable}"] = options[option]
        if options["log_file"]:
            environ[f"{env.PREFIX}LOG_FILE"] = ",".join(options["log_file"])
        try:
            env.load(environ)
        except env.ConfigError as error:
            raise CommandError("\n".join(error.problems), returncode=2) from error
        command = [sys.executable, "-m", "gunicorn", "-c"]
        command.append(str(env.BASE_DIR / "gunicorn.conf.py"))
        os.chdir(env.BASE_DIR)
        os.execve(sys.executable, command, environ)  # noqa: S606 - our own interpreter
