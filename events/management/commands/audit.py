"""Show the audit trail, oldest first, with --follow as it grows; or prove it."""

import ast
import dataclasses
import re
import struct
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson
from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from events.api.audit import expand_codes
from events.api.queries import parse_query_instant
from events.audit.reading import Trail, every_row, last_id
from events.audit.rows import DETAIL_COLUMNS, Row, detail_rows
from events.models import AuditEvent
from events.proof import hashing, heads, published, verifier
from events.proof.check import Report, check
from events.proof.keys import KeyUnavailable
from events.search import fold
from meshmgmt.core.printable import printable
from meshmgmt.core.progress import bar

POLL_SECONDS: Final = 1.0
_AT_ONCE: Final = 2000
_SPAN: Final = re.compile(r"[0-9]{1,6}[smhdw]")
FAULTY: Final = 1
"""Status of a check that found something."""

_VERIFIER: Final = (hashing, verifier)
"""Its modules, each after those that it needs."""

_KINDS: Final = {
    "changed": "is not what it was",
    "removed": "is missing, and not by retention",
    "added": "is not in the tree",
    "head": "",
    "published": "",
    "time": "and the trail tells of no clock that was set back",
    "begin": "were removed, the first of them at least, or the tree was built anew",
    "key": "is told by the trail, but is none of the keys",
    "due": "are not in the tree, and nothing proves them: does housekeeping run?",
    "tree": "does not hold the hash of what is below",
}


def parse_since(text: str) -> datetime:
    """Return the instant that `1h`, `2d` or a date names. Raises ValueError."""
    span = _SPAN.fullmatch(text.lower())
    return parse_query_instant(f"-{text}" if span else text)


def verify(out: OutputWrapper, options: dict[str, Any]) -> None:
    """Check the stored trail. Raises CommandError, with status 1, when it was touched."""
    own = published.own_file()
    files = [*([own] if own.exists() else []), *options["heads"]]
    try:
        report = check(bar, files)
    except OSError as error:
        raise CommandError(f"published heads cannot be read: {error}") from error
    except (ValueError, LookupError, TypeError, struct.error) as error:
        raise CommandError(
            f"the database holds what this service does not write: {error!r}",
            returncode=FAULTY,
        ) from error
    if options["json"]:
        out.write(orjson.dumps(dataclasses.asdict(report)).decode())
    else:
        for fault in report.faults:
            out.write(f"{fault['about']} {_KINDS[fault['kind']]}".rstrip())
        if any(fault["kind"] == "published" for fault in report.faults):
            out.write(f"{published.HINT} (docs/backup.md)")
        out.write(_seen(report))
        if not report.published_heads:
            places = ", ".join(map(str, files or [own]))
            out.write(f"no tree heads were published in {places} yet")
    if report.faults:
        raise CommandError(f"faults: {len(report.faults)}", returncode=FAULTY)


def _seen(report: Report) -> str:
    looked = f"{report.events} events and {report.heads} signed heads were checked"
    parts = [f"{looked} against a tree of {report.tree_size}"]
    if report.published_heads:
        parts.append(f"{report.published_heads} published heads were compared")
    if report.clock_set_back:
        times = f"{report.clock_set_back} time{'s' * (report.clock_set_back > 1)}"
        parts.append(f"the clock was set back {times} (audit --code audit.clock.back)")
    if report.removed_by_retention:
        parts.append(f"{report.removed_by_retention} were removed by retention")
    if report.not_in_the_tree_yet:
        parts.append(f"{report.not_in_the_tree_yet} are not in the tree yet")
    return "; ".join(parts)


def show_heads(out: OutputWrapper, options: dict[str, Any]) -> None:
    """Show where tree heads are published, and the newest; or publish them now."""
    try:
        if options["accept_restore"]:
            aside = published.accept_restore()
            out.write(f"the heads that the trail cannot have are in {aside}")
        elif options["publish"] is not None:
            _publish(out, options["publish"] or published.own_file())
            return
        _show(out, as_json=options["json"])
    except (
        published.Contradiction,
        published.NothingToAccept,
        KeyUnavailable,
    ) as error:
        raise CommandError(str(error), returncode=FAULTY) from error
    except OSError as error:
        raise CommandError(f"tree heads cannot be published: {error}") from error


def _publish(out: OutputWrapper, path: Path) -> None:
    heads.keep_up()
    count = published.publish(path)
    newest = published.newest(path)
    last = "none yet" if newest is None else published.described(newest)
    out.write(f"{count} new in {path}; the newest: {last}")


def _show(out: OutputWrapper, *, as_json: bool) -> None:
    path = published.own_file()
    newest = published.newest(path)
    if as_json:
        out.write(orjson.dumps({"file": str(path), "newest": newest}).decode())
    elif newest is None:
        out.write(f"no tree heads were published in {path} yet")
    else:
        out.write(f"{path}\n{published.described(newest)}")


def rotate_key(out: OutputWrapper, options: dict[str, Any]) -> None:
    """Replace the key that signs tree heads."""
    out.write(f"tree heads are signed by {heads.rotate().id} from now on")


def _add_verify(parser: ArgumentParser) -> None:
    """Declare the options of `verify`."""
    parser.add_argument(
        "--heads",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help=f"compare with the heads in FILE too, beside {published.FILE} of the data"
        " folder; repeatable",
    )


def _add_heads(parser: ArgumentParser) -> None:
    """Declare the options of `heads`."""
    parser.add_argument(
        "--publish",
        nargs="?",
        const="",
        type=lambda text: text and Path(text),
        metavar="FILE",
        help=f"sign what is committed and publish it now: into {published.FILE} of the"
        " data folder, or into FILE",
    )
    parser.add_argument(
        "--accept-restore",
        action="store_true",
        help="after a backup was restored: put the heads aside that are newer than it,"
        " note that in the trail, and begin a new file",
    )


def print_verifier(out: OutputWrapper, options: dict[str, Any]) -> None:
    """Print the verifier, one file that needs nothing of this service."""
    texts = [_alone(Path(module.__file__ or "")) for module in _VERIFIER]
    about = f'#!/usr/bin/env python3\n"""{verifier.__doc__}"""\n'
    out.write("\n\n".join([about, *texts]), ending="")


def _alone(path: Path) -> str:
    """Return the text of a module without its imports of the others."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body[::-1]:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("events."):
            del lines[node.lineno - 1 : node.end_lineno]
    return "".join(lines)


_DEEDS: Final = {
    "verify": verify,
    "heads": show_heads,
    "rotate-key": rotate_key,
    "verifier": print_verifier,
}


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
        _add_verify(made["verify"])
        _add_heads(made["heads"])

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
