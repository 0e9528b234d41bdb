"""What `manage.py audit verify`, `rotate-key` and `verifier` do."""

import ast
import dataclasses
from pathlib import Path
from typing import Any, Final

import orjson
from django.core.management.base import CommandError, OutputWrapper

from events.proof import canonical, hashing, heads, verifier
from events.proof.check import Report, check
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
    "tree": "does not hold the hash of what is below",
}


def verify(out: OutputWrapper, options: dict[str, Any]) -> None:
    """Check the stored trail. Raises CommandError, with status 1, when it was touched."""
    report = check(bar)
    if options["json"]:
        out.write(orjson.dumps(dataclasses.asdict(report)).decode())
    else:
        for fault in report.faults:
            out.write(f"{fault['about']} {_KINDS[fault['kind']]}".rstrip())
        out.write(_seen(report))
    if report.faults:
        raise CommandError(f"faults: {len(report.faults)}", returncode=FAULTY)


def _seen(report: Report) -> str:
    looked = f"{report.events} events and {report.heads} signed heads were checked"
    parts = [f"{looked} against a tree of {report.tree_size}"]
    if report.removed_by_retention:
        parts.append(f"{report.removed_by_retention} were removed by retention")
    if report.not_in_the_tree_yet:
        parts.append(f"{report.not_in_the_tree_yet} are not in the tree yet")
    return "; ".join(parts)


def rotate_key(out: OutputWrapper, options: dict[str, Any]) -> None:
    """Replace the key that signs tree heads."""
    out.write(f"tree heads are signed by {heads.rotate().id} from now on")


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
