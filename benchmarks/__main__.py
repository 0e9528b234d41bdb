"""Command line: `python -m benchmarks [--list] [NAME...]`."""

import argparse
import ast
import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import benchmarks
from benchmarks.report import Report
from benchmarks.workspace import open_workspace, shared_mesh

PREFIX: Final = "bench_"
ON_DEMAND: Final = frozenset({"hosts", "volume"})
"""Too long for a run of all: they run when they are named."""
EMPTY: Final = frozenset({"enrolment", "events", "volume"})
"""They begin with an empty database, all others with the large mesh."""


def discover() -> dict[str, str]:
    """Return the first docstring line of each benchmark by name."""
    folder = Path(__file__).parent
    return {
        path.stem.removeprefix(PREFIX): _purpose(path)
        for path in sorted(folder.glob(f"{PREFIX}*.py"))
    }


def _purpose(path: Path) -> str:
    """Return what a module says of itself; it is imported only once Django is ready."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0]


def main(arguments: list[str]) -> int:
    """Run the chosen benchmarks; return 1 when a target, or its guard, is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="default: all but those on demand"
    )
    parser.add_argument("--list", action="store_true", help="print the names and end")
    options = parser.parse_args(arguments)
    known = discover()
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    if options.list:
        for name, purpose in known.items():
            print(f"{name:12} {purpose}{' (on demand)' * (name in ON_DEMAND)}")
        return 0
    chosen = options.names or [name for name in known if name not in ON_DEMAND]
    if len(chosen) == 1:
        return _run(chosen[0], known[chosen[0]])
    # Each has a database and processes of its own: what one fills slows no other.
    command = [sys.executable, "-m", benchmarks.__name__]
    with shared_mesh() as environ:
        failed = [
            name
            for name in chosen
            if subprocess.run([*command, name], check=False, env=environ).returncode
        ]
    if failed:
        print(f"missed or failed: {', '.join(failed)}")
    return 1 if failed else 0


def _run(name: str, purpose: str) -> int:
    report = Report()
    with open_workspace(mesh=name not in EMPTY) as workspace:
        # Settings read the workspace's environment; everything is loaded as in the server.
        importlib.import_module("meshmgmt.wsgi")
        print(f"{name} ({workspace.vendor}): {purpose}", flush=True)
        started = time.perf_counter()
        module = importlib.import_module(f"{benchmarks.__name__}.{PREFIX}{name}")
        module.run(workspace, report)
        report.note(f"took {time.perf_counter() - started:.0f} s")
    for line in report.short:
        print(f"short of its target: {line}")
    for line in report.missed:
        print(f"missed: {line}")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
