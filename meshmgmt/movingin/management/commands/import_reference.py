"""`manage.py import_reference`: move in from another service with the same API."""

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors, read_text
from meshmgmt.core.printable import printable
from meshmgmt.movingin.comparing import Comparison
from meshmgmt.movingin.copying import Report, account_compare, account_copy
from meshmgmt.movingin.rows import public_keys
from meshmgmt.movingin.source import Source


class Command(BaseCommand):
    """Reads everything first, then writes it in one transaction."""

    help = (
        "Copy groups, policies, posture checks, networks, routes, nameserver groups,"
        " zones, settings, setup keys, users and peers of a running service with the"
        " same API into this account, which must hold no other configuration. Run again,"
        " it copies only what is new there. See docs/moving-in.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--url", required=True, help="of the service")
        parser.add_argument(
            "--token-file",
            required=True,
            metavar="FILE",
            help="token of an owner or admin there, - for standard input",
        )
        parser.add_argument(
            "--peer-keys",
            metavar="FILE",
            help="public keys of peers, which the API does not tell: lines KEY ADDRESS,"
            " as `wg show INTERFACE allowed-ips` prints them",
        )
        deed = parser.add_mutually_exclusive_group()
        deed.add_argument(
            "--dry-run", action="store_true", help="report, write nothing"
        )
        deed.add_argument(
            "--compare",
            action="store_true",
            help="copy nothing: hold both sides against each other, field by field;"
            " status 1 when they differ in more than secrets, times and use counters",
        )
        parser.add_argument(
            "--json", action="store_true", help="print the report as one JSON object"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Copy and report."""
        keys = _keys(options["peer_keys"])
        source = Source(options["url"], read_text(options["token_file"]).strip())
        with clear_errors():
            foreign = source.read()
            if options["compare"]:
                self._compare(account_compare(foreign), as_json=options["json"])
                return
            report = account_copy(foreign, keys=keys, dry_run=options["dry_run"])
        if options["json"]:
            body = {**report.as_json(), "dry_run": options["dry_run"]}
            self.stdout.write(json.dumps(body))
        else:
            self._print(report, dry_run=options["dry_run"])

    def _compare(self, found: Comparison, *, as_json: bool) -> None:
        """Print what differs. Raises SystemExit (1) when something does."""
        if as_json:
            self.stdout.write(json.dumps(found.as_json()))
        else:
            for line in _lines(found):
                self.stdout.write(printable(line))
        if not found.equal:
            raise SystemExit(1)

    def _print(self, report: Report, *, dry_run: bool) -> None:
        for copy in report.copies:
            arrow = "=>" if copy.is_new else "=="
            line = f"{copy.kind} {copy.old_id} {arrow} {copy.new_id} {copy.name}"
            self.stdout.write(printable(line))
        for kind in report.not_served:
            self.stdout.write(f"not served there: {kind}")
        for entry in report.left_out:
            line = f"{entry.kind} {entry.old_id} {entry.name}: {entry.reason}"
            self.stdout.write(printable(f"left out: {line}"))
        for key_id, plain in report.setup_keys.items():
            self.stdout.write(f"new setup key {key_id}: {plain}")
        for kind, count in report.counts().items():
            shown = ", ".join(f"{n} {what}" for what, n in count.items() if n)
            self.stdout.write(f"{kind}: {shown.replace('_', ' ')}")
        if dry_run:
            self.stdout.write("dry run: nothing was written")
        else:
            self.stdout.write(f"request id of the audit events: {report.request_id}")


def _lines(found: Comparison) -> Iterator[str]:
    """Yield the comparison for people: a line for each field that differs."""
    for line in found.skipped:
        yield f"never copied: {line}"
    for entry in found.differences:
        what = f"{entry.kind} {entry.old_id or entry.new_id} {entry.name}".rstrip()
        if entry.field:
            there, here = json.dumps(entry.there), json.dumps(entry.here)
            yield f"{what}: {entry.field}: there {there}, here {here}"
        else:
            yield f"{what}: only {'there' if entry.old_id else 'here'}"
    for kind, count in found.compared.items():
        differ = {
            entry.old_id or entry.new_id
            for entry in found.differences
            if entry.kind == kind
        }
        yield f"{kind}: {count} compared, {len(differ)} different"
    yield "equal" if found.equal else "different"


def _keys(path: str | None) -> Mapping[str, str]:
    if path is None:
        return {}
    try:
        return public_keys(read_text(path).splitlines())
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
