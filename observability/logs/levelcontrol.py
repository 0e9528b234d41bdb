"""Changing the level of a running server from a command."""

import time
from argparse import ArgumentParser
from typing import Any, Final

from django.core.management.base import CommandError

from meshmgmt.core import durations, runtime
from meshmgmt.env import Config
from meshmgmt.envvalues import LEVEL_NAMES, parse_level
from observability.logs import loglevels
from observability.logs.loglevels import Rule

RESET: Final = "reset"
SCOPED_SECONDS: Final = 600
"""How long a change for some requests holds when nothing is said."""


SCOPE: Final = {
    "logger": (
        "--logger",
        "NAME",
        "one logger alone",
        "the name of a logger, such as dns",
    ),
    "request_id": (
        *("--request-id", "ID", "requests with this id alone"),
        "the X-Request-Id of a request",
    ),
    "user_id": ("--user", "ID", "requests of this user alone", "the id of a user"),
    "path": (
        *("--path", "PATTERN", "requests for these paths alone, such as '/api/dns/*'"),
        "a path that begins with /, such as '/api/dns/*'",
    ),
}
"""What a change may be about: its flag, what stands for the value, help, what is good."""


def require_server(config: Config) -> runtime.ServerInfo:
    """Return the running server. Raises CommandError (status 1) when there is none."""
    info = runtime.running(config.runtime_dir)
    if info is None:
        raise CommandError(
            f"no server is running with the runtime directory {config.runtime_dir}"
        )
    return info


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "level",
        nargs="?",
        metavar="LEVEL",
        help=f"{', '.join(LEVEL_NAMES)}, or {RESET}; without one the level is shown",
    )
    parser.add_argument(
        "--for",
        dest="duration",
        metavar="DURATION",
        help="take the change back after this time, such as 30s, 10m or 1h30m "
        "(a change for some requests: 10m if not given)",
    )
    for name, (flag, metavar, text, _) in SCOPE.items():
        parser.add_argument(flag, dest=name, metavar=metavar, help=text)


def change(config: Config, options: dict[str, Any]) -> list[str]:
    """Carry out a change and return what holds now, one line each.

    Raises CommandError: status 2 for an unusable value, 1 without a server. What held
    before is then left as it was.
    """
    level = options["level"]
    rule = None if level in {None, RESET} else _rule(options)
    if rule is None and (options["duration"] is not None or _scope(options)):
        raise CommandError(
            f"a level is missing: give one of {', '.join(LEVEL_NAMES)}", returncode=2
        )
    require_server(config)
    if rule is not None:
        loglevels.add(config.runtime_dir, rule)
    elif level == RESET:
        loglevels.reset(config.runtime_dir)
    return loglevels.held(config)


def _scope(options: dict[str, Any]) -> dict[str, str]:
    return {name: options[name] for name in SCOPE if options[name] is not None}


def _checked_scope(options: dict[str, Any]) -> dict[str, str]:
    """Return the scope. Raises ValueError for one that no record could match.

    An empty value is what an unset variable of a shell leaves; read as no scope at all
    it would raise the level for everybody.
    """
    scope = _scope(options)
    for name, value in scope.items():
        flag, _, _, wanted = SCOPE[name]
        if not value.strip():
            raise ValueError(f"{flag} {value!r} names nothing: give {wanted}")
        if name == "path" and not value.startswith(("/", "*")):
            raise ValueError(f"{flag} {value!r} matches nothing: give {wanted}")
    return scope


def _rule(options: dict[str, Any]) -> Rule:
    try:
        level = parse_level(options["level"])
        duration = options["duration"]
        seconds = None if duration is None else durations.parse(duration)
        scope = _checked_scope(options)
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from error
    if seconds is None and set(scope) - {"logger"}:
        # While it holds, every record is made to be looked at.
        seconds = SCOPED_SECONDS
    expires = None if seconds is None else time.time() + seconds
    return Rule(level=level, expires=expires, **scope)
