"""`manage.py status [--detail] [--json] [--anonymize]`."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from observability.debug.anonymise import Anonymiser
from observability.health import status


class Command(BaseCommand):
    """Prints what is known, also while the database or the server is down."""

    help = "Show the state of the server, its checks and its figures."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--detail", action="store_true", help="processes and more")
        parser.add_argument("--json", action="store_true", help="one JSON document")
        parser.add_argument(
            "--anonymize",
            action="store_true",
            help="replace addresses and domain names (also SVC_ANONYMIZE=true)",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the status; exit status 1 when no ready server runs."""
        document = status.collect(detail=options["detail"])
        if options["anonymize"] or settings.SVC.anonymize:
            document = Anonymiser().document(document)
        if options["json"]:
            self.stdout.write(json.dumps(document, default=str))
        else:
            self.stdout.write(status.render(document), ending="")
        if not (document["server"]["running"] and document["ready"]):
            raise SystemExit(1)
