"""`manage.py seed`: a believable mesh to look at, or a large one to measure."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.demo.seeding import PROFILES, counts, is_seeded, other_data, seed


class Command(BaseCommand):
    """Fills an empty database; never touches one that holds data."""

    help = (
        "Fill an empty database. demo: a company of 12 people with 40 machines and a week"
        " of history. large: 5,000 machines in 500 groups with 200 zones. Users and"
        " tokens may be there already; with other data nothing is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--profile", choices=sorted(PROFILES), default="demo")
        parser.add_argument(
            "--random-seed", type=int, default=1, metavar="N", help="default: 1"
        )
        parser.add_argument(
            "--if-empty",
            action="store_true",
            help="end well, writing nothing, when the database holds other data",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the result as one JSON object"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Seed, or say why not. Raises CommandError for a database with other data."""
        profile = options["profile"]
        found = other_data()
        if found and not is_seeded(profile) and not options["if_empty"]:
            shown = ", ".join(f"{count} {kind}" for kind, count in found.items())
            raise CommandError(
                f"the database holds other data ({shown}); seed fills empty ones only"
            )
        if not found:
            with clear_errors():
                seed(profile, options["random_seed"])
        self._report(profile, seeded=not found, as_json=options["json"])

    def _report(self, profile: str, *, seeded: bool, as_json: bool) -> None:
        now = counts()
        if as_json:
            result = {"profile": profile, "seeded": seeded, "counts": now}
            self.stdout.write(json.dumps(result))
        elif seeded:
            shown = ", ".join(
                f"{count} {kind.replace('_', ' ')}" for kind, count in now.items()
            )
            self.stdout.write(f"Profile {profile}: {shown}.")
        else:
            self.stdout.write("The database holds data already: nothing was written.")
