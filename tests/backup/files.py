"""Backups that tests work with, and what commands say about them."""

import hashlib
import json
import os
import zipfile
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, Final

from django.core.management import call_command

from meshmgmt.backup.archive import CHUNK
from tests import runfolder

SCHEMAS: Final = Path(__file__).parent / "schemas"
OLD: Final = SCHEMAS / "0.1.0.zip"
"""What `tests.backup.keep` made of that version: each table of ours has a row."""
TOKEN: Final = "mpt_sKOprbT9VGLzpgncrj0WsEPP1krfUC4LsJ7O"
"""Of its owner; expires late."""
SECRET: Final = "of the databases that are kept"
"""The `SVC_SECRET_KEY` that made it."""


MANY_ROWS: Final = (
    "events_trafficevent",
    "events_trafficrollup",
    "events_proxyentry",
    "events_proxyrollup",
)


@cache
def brief() -> Path:
    """Return `OLD` with few events; one table is more than what is read at once."""
    few = {table: lines(OLD, table)[:20] for table in MANY_ROWS}
    few["events_trafficrollup"] = lines(OLD, "events_trafficrollup")[: CHUNK + 20]
    return sealed(OLD, runfolder.path() / f"brief-{os.getpid()}.zip", lines=few)


def run(*words: str | Path) -> dict[str, Any]:
    """Run a command with `--json` and return its report."""
    output = StringIO()
    call_command(*map(str, words), "--json", stdout=output, stderr=StringIO())
    report: dict[str, Any] = json.loads(output.getvalue())
    return report


def manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of a file."""
    with zipfile.ZipFile(path) as file:
        found: dict[str, Any] = json.loads(file.read("manifest.json"))
    return found


def rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table in a file, by column."""
    columns = manifest(path)["tables"][table]["columns"]
    with zipfile.ZipFile(path) as file:
        lines = file.read(f"{table}.ndjson").splitlines()
    return [dict(zip(columns, json.loads(line), strict=True)) for line in lines]


def changed(path: Path, target: Path, **members: bytes) -> Path:
    """Write a copy with other members, named with `_` for the dots; return it."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, members.get(name.replace(".", "_"), source.read(name)))
    return target


def sealed(
    path: Path,
    target: Path,
    *,
    lines: dict[str, list[bytes]] | None = None,
    **stated: Any,
) -> Path:
    """Write a copy with other lines of tables or entries of the manifest, whole again."""
    document = {**manifest(path), **stated}
    members: dict[str, bytes] = {}
    for table, found in (lines or {}).items():
        text = b"".join(line + b"\n" for line in found)
        members[f"{table}_ndjson"] = text
        document["tables"][table].update(
            rows=len(found), sha256=hashlib.sha256(text).hexdigest()
        )
    text = json.dumps(document).encode()
    seal = hashlib.sha256(text).hexdigest().encode()
    return changed(
        path, target, **members, manifest_json=text, manifest_json_sha256=seal
    )


def lines(path: Path, table: str) -> list[bytes]:
    """Return the lines of a table in a file."""
    with zipfile.ZipFile(path) as file:
        return file.read(f"{table}.ndjson").splitlines()
