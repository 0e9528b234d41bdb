"""`manage.py backup`: one state of the database in one file."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.backup.archive import BackupError, file_sum
from meshmgmt.backup.copying import back_up
from meshmgmt.core.progress import bar


class Command(BaseCommand):
    """Reads in one transaction; writers go on."""

    help = (
        "Write everything in the database to FILE, while the service runs. FILE can be"
        " restored into either kind of database. It holds hashes of passwords and tokens,"
        " but not the secret key: keep that too. See docs/backup.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("file", metavar="FILE", help="to be made, for you alone")
        parser.add_argument(
            "--without-events",
            action="store_true",
            help="leave network traffic events and proxy access logs out",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the report as one JSON object"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Back up and report."""
        path = Path(options["file"])
        try:
            manifest = back_up(path, bar, with_events=not options["without_events"])
        except BackupError as error:
            raise CommandError(str(error)) from error
        rows = {name: content.rows for name, content in manifest.tables.items()}
        total, size, seen = sum(rows.values()), path.stat().st_size, file_sum(path)
        if options["json"]:
            report = {"file": str(path), "bytes": size, "sha256": seen, "rows": rows}
            self.stdout.write(json.dumps(report))
            return
        self.stdout.write(f"{len(rows)} tables, {total} rows, {size} bytes")
        self.stdout.write(f"{seen}  {path}")
        if not settings.SVC.secret_key:
            place = settings.SVC.data_dir / "secret_key"
            self.stdout.write(f"not in it, to be kept elsewhere: {place}")
