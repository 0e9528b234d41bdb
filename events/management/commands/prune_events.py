"""Drop events that are older than their stream's retention."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from events.audit import retention as trail_retention
from events.streams import retention


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only count")

    def handle(self, **options: Any) -> None:
        verb = "would drop" if options["dry_run"] else "dropped"
        found = [
            *retention.prune(dry_run=options["dry_run"]),
            *trail_retention.prune(dry_run=options["dry_run"]),
        ]
        for pruned in found:
            self.stdout.write(
                f"{pruned.stream}: {verb} {pruned.rows} events before {pruned.before}"
            )
        if not found:
            self.stdout.write("no stream has a retention; nothing to do")
