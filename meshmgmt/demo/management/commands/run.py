"""`manage.py run`: the service on this machine, from nothing, by one command."""

import os
from argparse import ArgumentParser
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connections

from meshmgmt.serving import children
from meshmgmt.serving.flags import add_flags, environ_of


class Command(BaseCommand):
    """Prepares what is missing, says how to get in, and becomes `serve`."""

    help = (
        "Bring the database to the newest schema, print addresses and how to get in, and"
        " serve: by a link that makes the first owner, while there is none, else with"
        " admin login, token and setup key. Everything is kept in the data folder, so the"
        " next run goes on with it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_flags(parser)
        parser.add_argument(
            "--demo",
            action="store_true",
            help="fill an empty database with demo data, and make an owner",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until told to stop. Raises CommandError (status 2) for unusable values."""
        environ = environ_of(options)
        call_command("migrate", verbosity=0)
        if options["demo"]:
            call_command("seed", if_empty=True, stdout=self.stdout)
        # A flag that `welcome` shows is in the environment by now.
        os.environ.update(environ)
        call_command("welcome", link=not options["demo"], stdout=self.stdout)
        # What is left in the buffer would go with this process, which `serve` replaces.
        self.stdout.flush()
        connections.close_all()
        serve = [*children.MANAGE, "serve"]
        os.execve(serve[0], serve, environ)  # noqa: S606 - a command of our own
