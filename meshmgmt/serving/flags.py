"""The flags of `manage.py serve`: each stands for a variable and wins over it."""

import os
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import CommandError

from meshmgmt import env

_VARIABLES: Final = {
    "bind": "BIND",
    "workers": "WORKERS",
    "threads": "THREADS",
    "metrics_port": "METRICS_PORT",
    "log_level": "LOG_LEVEL",
}


def add_flags(parser: ArgumentParser) -> None:
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


def environ_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the environment with the given flags in place of their variables.

    Raises CommandError (status 2) naming every unusable value.
    """
    environ = dict(os.environ)
    for option, variable in _VARIABLES.items():
        if options[option] is not None:
            environ[f"{env.PREFIX}{variable}"] = options[option]
    if options["log_file"]:
        environ[f"{env.PREFIX}LOG_FILE"] = ",".join(options["log_file"])
    try:
        env.load(environ)
    except env.ConfigError as error:
        raise CommandError("\n".join(error.problems), returncode=2) from error
    return environ
