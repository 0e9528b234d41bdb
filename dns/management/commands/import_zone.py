"""`manage.py import_zone FILE|- --zone ZONE [--replace] [--dry-run] [--strict]`."""

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dns.api.serializers import ZoneImportSerializer
from dns.api.zonefiles import ZONE_FILE_BYTES
from dns.management.objects import find_zone
from dns.services.zonefiles import Import, zone_import, zone_import_preview
from meshmgmt.accounts.management.people import clear_errors
from meshmgmt.core.printable import printable
from meshmgmt.mesh.snapshot import Record


class Command(BaseCommand):
    help = "Import a zone file (RFC 1035); nothing of it when it has a fault."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="a zone file, - for standard input")
        parser.add_argument(
            "--zone", required=True, help="id, domain or name of the zone"
        )
        parser.add_argument(
            "--replace", action="store_true", help="remove records the file lacks"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show the changes, write nothing"
        )
        parser.add_argument(
            "--strict", action="store_true", help="refuse types that are not held"
        )
        parser.add_argument("--json", action="store_true", help="one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        text = _read(options["file"])
        perform = zone_import_preview if options["dry_run"] else zone_import
        zone = find_zone(options["zone"])
        with clear_errors():
            done = perform(
                zone_id=zone.pk,
                text=text,
                merge=not options["replace"],
                strict=options["strict"],
            )
        if options["json"]:
            document = ZoneImportSerializer.plain(done)
            self.stdout.write(json.dumps(document, indent=2))
            return
        self.stdout.write("\n".join(printable(line) for line in _lines(done)))


def _read(path: str) -> str:
    """Return the text of a file. Raises CommandError."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read(ZONE_FILE_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(ZONE_FILE_BYTES + 1)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    # First: where it was cut off may lie within a character.
    if len(data) > ZONE_FILE_BYTES:
        raise CommandError(f"{path} is larger than {ZONE_FILE_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 text") from error


def _lines(done: Import) -> Iterator[str]:
    diff = done.diff
    for record in diff.removed:
        yield f"- {_text(record)}"
    for change in diff.changed:
        yield f"~ {_text(change.before)} -> {change.after.ttl} {change.after.content}"
    for record in diff.added:
        yield f"+ {_text(record)}"
    for skipped in done.file.skipped:
        yield f"skipped line {skipped.line}: {skipped.name} {skipped.type}"
    counts = (
        f"{len(diff.added)} added, {len(diff.changed)} changed,"
        f" {len(diff.removed)} removed, {diff.unchanged} unchanged,"
        f" {len(done.file.skipped)} skipped"
    )
    yield f"dry run, nothing written: {counts}" if done.preview else counts


def _text(record: Record) -> str:
    return f"{record.name} {record.ttl} {record.type} {record.content}"
