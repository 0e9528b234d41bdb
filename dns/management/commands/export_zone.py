"""`manage.py export_zone ZONE [--authority] [--output FILE]`."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dns.management.objects import find_zone
from dns.services.zonefiles import zone_export


class Command(BaseCommand):
    help = "Export a zone as a zone file (RFC 1035)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("zone", help="id, domain or name of the zone")
        parser.add_argument(
            "--authority",
            action="store_true",
            help="add SOA and NS records, as authoritative servers want them",
        )
        parser.add_argument("--output", help="a file (default: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:
        export = zone_export(
            zone_id=find_zone(options["zone"]).pk, authority=options["authority"]
        )
        for record in export.left_out:
            self.stderr.write(f"left out, the name is too long: {record.name}")
        if not options["output"]:
            self.stdout.write(export.text, ending="")
            return
        try:
            Path(options["output"]).write_text(export.text, encoding="utf-8")
        except OSError as error:
            path = options["output"]
            raise CommandError(f"cannot write {path}: {error.strerror}") from error
