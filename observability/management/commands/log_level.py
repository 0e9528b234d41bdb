"""`manage.py log_level`: show or change the level of the running server."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from observability.logs import levelcontrol


class Command(BaseCommand):
    """Works without the database."""

    help = "Show or change the log level of the running server, within two seconds."

    def add_arguments(self, parser: ArgumentParser) -> None:
        levelcontrol.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        for line in levelcontrol.change(settings.SVC, options):
            self.stdout.write(line)
