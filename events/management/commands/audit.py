"""Show the audit trail, oldest first, with --follow as it grows; or prove it."""

import re
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import orjson
from django.core.management.base import BaseCommand, CommandError

from events.api.auditfilters import expand_codes
from events.api.queries import parse_query_instant
from events.audit.reading import Trail, every_row, last_id
from events.audit.rows import DETAIL_COLUMNS, Row, detail_rows
from events.management import proofs
from events.models import AuditEvent
from events.search import fold
from meshmgmt.core.printable import printable

POLL_SECONDS: Final = 1.0
_AT_ONCE: Final = 2000
_SPAN: Final = re.compile(r"[0-9]{1,6}[smhdw]")
_DEEDS: Final = {
    "verify": proofs.verify,
    "heads": proofs.show_heads,
    "rotate-key": proofs.rotate_key,
    "verifier": proofs.print_verifier,
}


def parse_since(text: str) -> datetime:
    """Return the instant that `1h`, `2d` or a date names. Raises ValueError."""
    span = _SPAN.fullmatch(text.lower())
    return parse_query_instant(f"-{text}" if span else text)


class Command(BaseCommand):
    help = __doc__ or ""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--since",
            default="24h",
            help="a span back from now in s, m, h, d or w (30m, 2d), or an ISO 8601"
            " date; 24h when absent",
        )
        parser.add_argument(
            "--code",
            action="append",
            default=[],
            help="a code, or a pattern such as group.*; repeatable",
        )
        parser.add_argument(
            "--initiator", default="", help="id or e-mail of who did it"
        )
        parser.add_argument("--target", default="", help="id of what it was done to")
        parser.add_argument("--search", default="", help="part of any text")
        parser.add_argument(
            "--follow", action="store_true", help="wait for more events"
        )
        parser.add_argument("--json", action="store_true", help="one object per line")
        deeds = parser.add_subparsers(dest="deed", metavar="COMMAND")
        made = {
            name: deeds.add_parser(name, help=deed.__doc__, description=deed.__doc__)
            for name, deed in _DEEDS.items()
        }
        for each in made.values():
            each.add_argument("--json", action="store_true", help="print JSON")
        proofs.add_verify(made["verify"])
        proofs.add_heads(made["heads"])

    def handle(self, **options: Any) -> None:
        if options["deed"]:
            _DEEDS[options["deed"]](self.stdout, options)
            return
        matching = _matching(options)
        try:
            since = parse_since(options["since"])
        except (ValueError, OverflowError) as error:
            raise CommandError(
                f"--since: {options['since']!r} is neither a span such as 30m, 1h or 2d"
                " nor an ISO 8601 date"
            ) from error
        last = last_id()
        recent = matching.filter(timestamp__gte=since)
        found = every_row(recent, DETAIL_COLUMNS, last=last, oldest=True)
        self._print(found, options["json"])
        if options["follow"]:
            with suppress(KeyboardInterrupt):  # the usual way to end it
                self._follow(matching, last, options["json"])

    def _follow(self, matching: Trail, last: int, as_json: bool) -> None:
        """Print events as they are committed: ids grow in that order."""
        while True:
            rows = matching.filter(id__gt=last).order_by("id")
            fresh = list(rows.values_list(*DETAIL_COLUMNS)[:_AT_ONCE])
            if fresh:
                self._print(fresh, as_json)
                last = fresh[-1][0]
            else:
                time.sleep(POLL_SECONDS)

    def _print(self, found: Iterable[tuple[Any, ...]], as_json: bool) -> None:
        for row in detail_rows(found):
            self.stdout.write(orjson.dumps(row).decode() if as_json else _line(row))
        self.stdout.flush()


def _matching(options: dict[str, Any]) -> Trail:
    events: Trail = AuditEvent.objects.all()
    if options["code"]:
        try:
            codes = expand_codes([code.lower() for code in options["code"]])
        except ValueError as error:
            raise CommandError(str(error)) from error
        events = events.filter(activity_code__in=codes)
    if "@" in options["initiator"]:
        events = events.filter(initiator_email__iexact=options["initiator"])
    elif options["initiator"]:
        events = events.filter(initiator_id=options["initiator"])
    if options["target"]:
        events = events.filter(target_id=options["target"])
    if options["search"]:
        events = events.filter(search__holds=fold(options["search"]))
    return events


def _line(row: Row) -> str:
    """Return time, code, who, target, text and meta, for people.

    Names are chosen by users: none may forge a line, or command the terminal.
    """
    who = row["initiator_email"] or row["initiator_name"] or row["initiator_id"]
    meta = " ".join(f"{name}={value}" for name, value in row["meta"].items())
    return printable(
        f"{row['timestamp'][:19]}Z {row['activity_code']:28} {who or '-':28}"
        f" {row['target_id']:22} {row['activity']}{' | ' if meta else ''}{meta}"
    )
