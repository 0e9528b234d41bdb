"""The flags of `manage.py serve`: each stands for a variable and wins over it."""

import os
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any, Final

from django.core.management.base import CommandError

from meshmgmt import env

_FLAGS: Final = {
    "bind": "HOST:PORT|unix:PATH",
    "workers": "N",
    "threads": "N",
    "metrics_port": "N|off",
    "log_level": "LEVEL",
}
"""What stands for the value of each; it is called as its variable, in lower case."""


def add_flags(parser: ArgumentParser) -> None:
    """Declare the flags; values are checked as the variables are."""
    for name, value in _FLAGS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", metavar=value)
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
    for name in _FLAGS:
        if options[name] is not None:
            environ[f"{env.PREFIX}{name.upper()}"] = options[name]
    if options["log_file"]:
        environ[f"{env.PREFIX}LOG_FILE"] = ",".join(options["log_file"])
    try:
        env.load(environ)
    except env.ConfigError as error:
        raise CommandError("\n".join(error.problems), returncode=2) from error
    return environ
