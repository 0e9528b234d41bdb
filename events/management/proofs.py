"""What `manage.py audit verify`, `heads`, `rotate-key` and `verifier` do."""

import ast
import dataclasses
import struct
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

import orjson
from django.core.management.base import CommandError, OutputWrapper

from events.proof import canonical, hashing, heads, published, verifier
from events.proof.check import check
from events.proof.keys import KeyUnavailable
from events.proof.report import Report
from meshmgmt.core.progress import bar

FAULTY: Final = 1
"""Status of a check that found something."""

_VERIFIER: Final = (canonical, hashing, verifier)
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
        if not files:
            out.write(f"no tree heads were published in {own} yet")
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


def add_verify(parser: ArgumentParser) -> None:
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


def add_heads(parser: ArgumentParser) -> None:
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
