"""Command line of the service: `manage.py` in a checkout, `meshmgmt` installed."""

import errno
import os
import signal
import sys
from contextlib import ExitStack
from typing import Any, Final

from django.core import management
from django.core.management.base import BaseCommand, CommandParser

from meshmgmt import env
from meshmgmt.core.collector import loading
from meshmgmt.core.errors import first_line, missing_tables

WITHOUT_APPS: Final = {
    "serve": "meshmgmt.serving",
    "log_level": "observability",
    "housekeeping": "meshmgmt.serving",
    "serve_peers": "meshmgmt.control",
}
"""Commands that begin without models, and their app: loading all apps takes half a
second. What needs them later loads them itself.
"""


UNUSABLE: Final = 3
"""Exit status when the database is away, full or cannot be read: no answer was found."""

FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""What the system says when a disk, or the share of somebody, holds no more."""


def main() -> int:
    """Run one management command and return its exit status."""
    try:
        env.load()
    except env.ConfigError as error:
        sys.stderr.write("".join(f"{problem}\n" for problem in error.problems))
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "meshmgmt.settings")
    try:
        run(sys.argv)
    except BrokenPipeError:
        # `| head` has seen enough.
        _drop_output()
        return 128 + signal.SIGPIPE
    except Exception as error:
        status, sentence = told(error)
        if not sentence or "--traceback" in sys.argv:
            raise
        sys.stderr.write(f"CommandError: {sentence}\n")
        if _is_full(error):
            _drop_output()
        return status
    except KeyboardInterrupt:
        # Whoever stops a command knows that they did.
        return 128 + signal.SIGINT
    return 0


def _drop_output() -> None:
    """Send nowhere what is still buffered: the interpreter complains when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_full(error: Exception) -> bool:
    return isinstance(error, OSError) and error.errno in FULL


def told(error: Exception) -> tuple[int, str]:
    """Return exit status and sentence for what an operator can mend, else no sentence."""
    if isinstance(error, env.ConfigError):
        return 2, str(error)
    if isinstance(error, OSError) and _is_full(error):
        return 2, f"cannot write: {error.strerror}"
    from django.db import (  # noqa: PLC0415
        DatabaseError,
        InterfaceError,
        OperationalError,
    )

    from observability.logs.outputs import OutputError  # noqa: PLC0415

    if missing := missing_tables(error):
        return 1, missing
    # Of a file that is damaged, or holds no database, SQLite raises the general error.
    damaged = type(error) is DatabaseError and error.__cause__ is not None
    if damaged or isinstance(error, OperationalError | InterfaceError):
        return UNUSABLE, f"the database cannot be used: {first_line(error)}"
    if isinstance(error, UnicodeEncodeError) and error.encoding == "utf-8":
        return 2, f"this is not UTF-8: {error.object!a}"
    return (2, str(error)) if isinstance(error, OutputError) else (1, "")


class Commands(management.ManagementUtility):
    """The commands of all apps, which begin a third sooner than by Django alone."""

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self.loading = ExitStack()
        self.loading.enter_context(loading())

    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Return a command; asked for when all apps are loaded."""
        self.loading.close()
        command = super().fetch_command(subcommand)
        # Who runs the development server changes the code.
        return command if subcommand == "runserver" else unchecked(command)


def unchecked(command: BaseCommand) -> BaseCommand:
    """Return a command that checks nothing first.

    What Django's checks find is wrong in the code, which is not changed where it runs.
    """
    create_parser = command.create_parser

    def skipping(*names: str, **options: Any) -> CommandParser:
        parser = create_parser(*names, **options)
        parser.set_defaults(skip_checks=True)
        return parser

    command.create_parser = skipping  # type: ignore[method-assign]
    return command


def run(arguments: list[str]) -> None:
    """Run the command that the arguments name, and write out what it printed."""
    name = arguments[1] if len(arguments) > 1 else ""
    try:
        if name in WITHOUT_APPS:
            command = management.load_command_class(WITHOUT_APPS[name], name)
            unchecked(command).run_from_argv(arguments)
        else:
            Commands(arguments).execute()
    finally:  # also of commands that end with a status of their own
        sys.stdout.flush()
