"""`manage.py config`: the whole configuration as one document."""

import difflib
import json
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import orjson
import yaml
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.accounts.management.people import clear_errors, read_text
from meshmgmt.api.plans import Plan
from meshmgmt.configuration.applying import (
    check_deletions,
    check_form,
    outcome,
    perform,
)
from meshmgmt.configuration.difference import difference, side_by_side
from meshmgmt.configuration.document import (
    as_yaml,
    configuration,
    configuration_at,
    names_at,
)
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.history import PARAMETER, account_at, moment_of
from meshmgmt.core.printable import printable
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.movingin.source import Source

DELETIONS = 10
MOMENT = "a time as RFC 3339 writes it, such as 2026-11-01T08:00:00Z"
DIFFERENT = 1
"""Exit status of `diff`, `drift` and `plan` when something differs."""
ERROR = 2

_NO_DOCUMENT = (
    *(yaml.YAMLError, TypeError, ValueError),
    *(AttributeError, LookupError, OverflowError),
)
"""What PyYAML and orjson raise; the last three: values that do not fit their tags."""


class Command(BaseCommand):
    """Exports, plans, applies and compares."""

    help = (
        "The configuration as one document with names in place of ids: groups, posture"
        " checks, networks, policies, routes, DNS, settings; no secrets, no members of"
        " groups. See docs/changes.md."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the subcommands."""
        deeds = parser.add_subparsers(dest="deed", required=True)
        export = deeds.add_parser("export", help="print the document")
        _add_format(export)
        export.add_argument("--at", metavar="T", help=f"as it was, {MOMENT}")
        diff = deeds.add_parser(
            "diff",
            help="what differs between two moments; status 1 when something does",
        )
        _add_format(diff)
        diff.add_argument("--from", required=True, metavar="T1", help=MOMENT)
        diff.add_argument("--to", metavar="T2", help=f"{MOMENT}; default: now")
        for name, text in (
            ("plan", "show what `apply` would do; status 1 when that is something"),
            ("apply", "make the account what FILE says, in one transaction"),
        ):
            deed = deeds.add_parser(name, help=text)
            deed.add_argument("file", metavar="FILE", help="YAML or JSON, - for stdin")
            deed.add_argument(
                "--json", action="store_true", help="print the whole plan"
            )
            deed.add_argument(
                "--max-deletions",
                type=_number,
                default=DELETIONS,
                metavar="N",
                help="refuse to delete more objects (%(default)s)",
            )
        drift = deeds.add_parser(
            "drift",
            help="compare FILE, or this account, with another; status 1: differs",
        )
        drift.add_argument(
            "file", nargs="?", metavar="FILE", help="default: this account"
        )
        drift.add_argument("--url", help="of another instance; default: this account")
        drift.add_argument(
            "--token-file", metavar="FILE", help="token there, - for standard input"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what is asked."""
        with _status_of_errors(), clear_errors():
            getattr(self, f"_{options['deed']}")(options)

    def _export(self, options: dict[str, Any]) -> None:
        with _about("--at"), account_at(options["at"] or ""), read_snapshot():
            document = configuration()
        self._write(document, options)

    def _diff(self, options: dict[str, Any]) -> None:
        before, after = options["from"], options["to"]
        with _about("--from"):
            start = moment_of(before)
        # In one snapshot, or what is renamed meanwhile would differ wherever it is named.
        with read_snapshot(temporary=True):
            with _about("--to"):
                if after and moment_of(after) < start:
                    raise CommandError("--to lies before --from")
                called = names_at(after or "")
            with _about("--from"):
                old = configuration_at(before, called)
            with _about("--to"):
                objects = difference(old, configuration_at(after or ""))
        told = {"from": before, "to": after or "now", "objects": objects}
        self._write(told, options)
        if objects:
            sys.exit(DIFFERENT)

    def _write(self, document: dict[str, Any], options: dict[str, Any]) -> None:
        text = json.dumps(document, indent=2) if options["json"] else as_yaml(document)
        self.stdout.write(text.rstrip("\n"))

    def _plan(self, options: dict[str, Any]) -> None:
        plan = self._perform(options, dry_run=True)
        check_deletions(plan, options["max_deletions"])
        if plan.shown["objects"]:
            sys.exit(DIFFERENT)

    def _apply(self, options: dict[str, Any]) -> None:
        self._perform(options, dry_run=False)

    def _perform(self, options: dict[str, Any], *, dry_run: bool) -> Plan:
        plan = perform(
            _read(options["file"]),
            dry_run=dry_run,
            max_deletions=options["max_deletions"],
        )
        objects = plan.shown["objects"]
        if options["json"]:
            self.stdout.write(json.dumps(plan.shown, indent=2))
            return plan
        for done in objects:
            fields = ", ".join(done["changes"]) if done["action"] == "changed" else ""
            line = f"{done['action']:9} {done['type']} {done['name'] or done['id']}"
            self.stdout.write(printable(f"{line} ({fields})" if fields else line))
        for pair in plan.shown["reach"]["pairs"]:
            self.stdout.write(printable(f"reach     {pair['text']}"))
        for test in plan.shown["tests"]:
            line = f"test      {test['name']}: {test['before'] or 'new'} -> {test['after']}"
            self.stdout.write(printable(line))
        maps = plan.shown["peers"]["maps"]
        verb = "would be" if dry_run else "were"
        self.stdout.write(
            f"{len(objects)} objects {verb} written; the maps of"
            f" {'' if maps['exact'] else 'up to '}{maps['count']} peers become others."
        )
        return plan

    def _drift(self, options: dict[str, Any]) -> None:
        if not options["file"] and not options["url"]:
            raise CommandError("name FILE, --url, or both: this account is itself")
        ours = _read(options["file"]) if options["file"] else _own()
        theirs = _foreign(options) if options["url"] else _own()
        # What the file leaves out stays as it is, and is no difference.
        if not options["url"]:
            ours = outcome(ours)
        elif options["file"]:
            check_form(ours)
            try:
                ours, theirs = side_by_side(ours, theirs)
            except (AttributeError, LookupError, TypeError) as error:
                raise _no_configuration(options["url"]) from error
        names = (options["file"] or "this account", options["url"] or "this account")
        lines = list(
            difflib.unified_diff(
                as_yaml(ours).splitlines(),
                as_yaml(theirs).splitlines(),
                *names,
                lineterm="",
            )
        )
        for line in lines:
            self.stdout.write(printable(line))
        if lines:
            sys.exit(DIFFERENT)
        self.stdout.write("No difference.")


@contextmanager
def _status_of_errors() -> Iterator[None]:
    try:
        yield
    except CommandError as error:
        error.returncode = ERROR
        raise
    except RecursionError as error:
        deep = "a document is nested too deeply"
        raise CommandError(deep, returncode=ERROR) from error


class _Loader(yaml.SafeLoader):
    """Reads no aliases: a few of them are a document of any size.

    A date is a text, and what stands twice is refused, or the first would be lost.
    """

    yaml_implicit_resolvers = {
        first: [(tag, form) for tag, form in known if not tag.endswith(":timestamp")]
        for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        _once([(self.construct_object(key, deep=True), None) for key, _ in node.value])
        return super().construct_mapping(node, deep)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError("must be a number from 0 on")
    return int(text)


def _once(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return what pairs tell. Raises CommandError for a key that stands there twice."""
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise CommandError(f"{str(key)[:64]!r} stands twice in one place")
        found[key] = value
    return found


def _add_format(deed: ArgumentParser) -> None:
    deed.add_argument("--json", action="store_true", help="JSON in place of YAML")


def _own() -> dict[str, Any]:
    with read_snapshot():
        return configuration()


@contextmanager
def _about(option: str) -> Iterator[None]:
    """Say of a refused moment which option names it."""
    try:
        yield
    except ServiceError as error:
        told = error.message.removeprefix(f"{PARAMETER}: ")
        raise CommandError(f"{option}: {told}") from error


def _foreign(options: dict[str, Any]) -> dict[str, Any]:
    if not options["token_file"]:
        raise CommandError("--url needs --token-file")
    token = read_text(options["token_file"]).strip()
    found = Source(options["url"], token).get("config")
    if not isinstance(found, dict):
        raise _no_configuration(options["url"])
    return found


def _no_configuration(url: str) -> CommandError:
    return CommandError(f"{url} serves no configuration")


def _read(name: str) -> Any:
    text = read_text(name)
    with suppress(ValueError):
        orjson.loads(text)
        # Not as YAML, to which an escaped pair of surrogates is two characters.
        return json.loads(text, object_pairs_hook=_once)
    try:
        found = yaml.load(text, _Loader)  # noqa: S506 - a safe one
        # Tags make times, bytes and sets, which a document has not.
        orjson.dumps(found, option=orjson.OPT_PASSTHROUGH_DATETIME)
    except _NO_DOCUMENT as error:
        # PyYAML's reasons have several lines.
        reason = " ".join(str(error).split())
        raise CommandError(f"{name}: neither YAML nor JSON: {reason}") from error
    return found
