"""`manage.py import_peers`: peers from NDJSON, without the peer protocol."""

import contextlib
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser

from meshmgmt.core.errors import ServiceError
from meshmgmt.core.printable import printable
from meshmgmt.core.progress import bar
from meshmgmt.inventory.services import imports


class Command(BaseCommand):
    help = (
        "Create or update peers from NDJSON, told apart by wg_public_key. All or"
        f" nothing. Fields: {', '.join(imports.FIELDS)}."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="path of the file, - for standard input")
        parser.add_argument(
            "--dry-run", action="store_true", help="check and count, write nothing"
        )
        parser.add_argument(
            "--json", action="store_true", help="print the result as JSON"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the import; exit status 1 when a line is faulty."""
        terms = {"dry_run": options["dry_run"], "watched": partial(bar, "peers")}
        try:
            with _opened(options["file"]) as file:
                lines = iter(partial(file.readline, imports.MAX_LINE + 2), b"")
                result = imports.peers_import(lines, **terms)
        except imports.ImportFault as error:
            self._print_faults(error, as_json=options["json"])
            raise CommandError("nothing was imported") from error
        except ServiceError as error:
            raise CommandError(error.message) from error
        self._print_result(result, **options)

    def _print_faults(self, error: imports.ImportFault, *, as_json: bool) -> None:
        if as_json:
            faults = [asdict(fault) for fault in error.faults]
            self.stdout.write(orjson.dumps({"faults": faults}).decode())
            return
        for fault in error.faults:
            self.stderr.write(printable(str(fault)))

    def _print_result(self, result: imports.ImportResult, **options: Any) -> None:
        if options["json"]:
            body = {**asdict(result), "dry_run": options["dry_run"]}
            self.stdout.write(orjson.dumps(body).decode())
            return
        would = "would be " if options["dry_run"] else ""
        self.stdout.write(
            f"peers: {result.created} {would}created, {result.updated} {would}updated,"
            f" {result.unchanged} unchanged"
        )


def _opened(path: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if path == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
