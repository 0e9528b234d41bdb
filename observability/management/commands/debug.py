"""`manage.py debug for 5m | bundle | log level LEVEL`."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.core import durations
from observability.debug import bundle
from observability.logs import levelcontrol

_INTERRUPTED = 130


class Command(BaseCommand):
    """Finds out what a server does; works without the database as far as it can."""

    help = "Debug a running server: a timed run, a bundle, the log level."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
        timed = commands.add_parser("for", help="level trace for a time, then a bundle")
        timed.add_argument("time", metavar="DURATION", help="such as 30s or 5m")
        bundled = commands.add_parser("bundle", help="a bundle of what is there now")
        for made in (timed, bundled):
            made.add_argument(
                "--anonymize",
                action="store_true",
                help="replace addresses and domain names (also SVC_ANONYMIZE=true)",
            )
            made.add_argument(
                "--output", type=Path, metavar="DIR", help="where the zip is written"
            )
        log = commands.add_parser("log", help="the log level, as `log_level` does")
        words = log.add_subparsers(dest="word", required=True, metavar="level")
        levelcontrol.add_arguments(words.add_parser("level"))

    def handle(self, *args: Any, **options: Any) -> None:
        """Carry out the sub-command; a bundle's path is the last line printed."""
        config = settings.SVC
        if options["what"] == "log":
            for line in levelcontrol.change(config, options):
                self.stdout.write(line)
            return
        directory = options["output"] or config.data_dir / "bundles"
        how = {
            "anonymised": options["anonymize"] or config.anonymize,
            "quiet": options["verbosity"] == 0 or not sys.stderr.isatty(),
        }
        try:
            if options["what"] == "bundle":
                path = bundle.bundle_now(config, directory, **how)
            else:
                path = bundle.run(config, _seconds(options["time"]), directory, **how)
        except KeyboardInterrupt as error:
            raise CommandError(
                "interrupted: the log level is restored and no bundle was made",
                returncode=_INTERRUPTED,
            ) from error
        except OSError as error:
            raise CommandError(
                f"the bundle cannot be written to {directory}: {error.strerror}",
                returncode=2,
            ) from error
        self.stdout.write(str(path))


def _seconds(text: str) -> int:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise CommandError(str(error), returncode=2) from error
