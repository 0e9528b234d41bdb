"""`manage.py restore`: fill an empty database from the file of a backup."""

import json
from argparse import ArgumentParser
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError

from events.proof import published
from meshmgmt.backup.archive import BackupError, Manifest
from meshmgmt.backup.copying import check, nobody_serves, restore, secret_key_mark
from meshmgmt.core.progress import bar
from meshmgmt.env import PROGRAM

PUBLISHED: Final = (
    "the audit trail is older than the tree heads that were published in {}: housekeeping"
    " says so, and publishes nothing, until `{}` (docs/backup.md)"
)
OTHER_KEY: Final = (
    "the secret key here is not the one of the backup: put that into SVC_SECRET_KEY or the"
    " data folder, or peers meet a server with another key (docs/backup.md)"
)


class Command(BaseCommand):
    """Checks the whole file first, then writes it in one transaction."""

    help = (
        "Fill an empty database, of either kind, from FILE. The tables are made when"
        " there are none; a file of an older version is brought to the newest schema."
        " Nothing is kept unless every row arrived. See docs/backup.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("file", metavar="FILE", help=f"made by `{PROGRAM} backup`")
        parser.add_argument(
            "--check",
            action="store_true",
            help="read the whole file and say whether it is sound, write nothing",
        )
        parser.add_argument(
            "--force",
            action="store_true",
            help="restore even while a server runs over the database",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the report as one JSON object"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore and report."""
        path = Path(options["file"])
        checking = partial(_titled, "checking")
        try:
            if options["check"]:
                manifest = check(path, checking)
            else:
                with nullcontext() if options["force"] else nobody_serves():
                    manifest = restore(path, checking, partial(_titled, "restoring"))
        except BackupError as error:
            raise CommandError(str(error)) from error
        self._report(manifest, as_json=options["json"], done=not options["check"])

    def _report(self, manifest: Manifest, *, as_json: bool, done: bool) -> None:
        rows = {name: content.rows for name, content in manifest.tables.items()}
        # Told, not refused: the key may be put in its place afterwards.
        same_key = manifest.secret_key == secret_key_mark()
        contradicted = done and published.is_contradicted()
        if as_json:
            report = {
                "restored": done,
                "created_at": manifest.created_at,
                "version": manifest.version,
                "same_secret_key": same_key,
                "older_than_published_heads": contradicted,
                "rows": rows,
            }
            self.stdout.write(json.dumps(report))
            return
        made = f"backup of {manifest.created_at}, version {manifest.version}"
        counted = f"{len(rows)} tables, {sum(rows.values())} rows"
        what = "restored and compared" if done else "sound"
        self.stdout.write(f"{made}: {counted}, {what}")
        if not same_key:
            self.stderr.write(OTHER_KEY)
        if contradicted:
            text = PUBLISHED.format(published.own_file(), published.ACCEPT)
            self.stderr.write(text)


def _titled(title: str, name: str, rows: Any, count: int) -> Any:
    return bar(f"{title} {name}", rows, count)
