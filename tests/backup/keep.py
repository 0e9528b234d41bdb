"""Keeps a database of this version, and what its migrations were, for all later ones.

Usage: .venv/bin/python -m tests.backup.keep

Writes two files to `schemas/`: VERSION.zip, a backup of the demo company in which each
table of ours has a row, and VERSION.sha256, the sums of all migrations. Once the version
has its tag, nothing is written any more.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import django
from django.apps import apps
from django.core.management import call_command

import meshmgmt
from meshmgmt.env import BASE_DIR
from tests.backup.files import SCHEMAS, SECRET, TOKEN

if TYPE_CHECKING:
    from django.db.models import Field, Model

NOT_OURS: Final = {"admin", "auth", "contenttypes", "sessions"}
TARGET: Final = {"type": "webhook", "url": "https://receiver.example.com/events"}


def sums() -> dict[str, str]:
    """Return the SHA-256 sum of each file of migrations, by its path in the repository."""
    return {
        str(path.relative_to(BASE_DIR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(_migration_files())
    }


def _migration_files() -> Iterator[Path]:
    for app in apps.get_app_configs():
        folder = Path(app.path) / "migrations"
        if folder.is_relative_to(BASE_DIR) and ".venv" not in folder.parts:
            yield from (path for path in folder.glob("*.py") if path.stat().st_size)


def main() -> None:
    version = meshmgmt.__version__
    tag = ["git", "tag", "--list", f"v{version}"]
    if subprocess.run(tag, cwd=BASE_DIR, check=True, capture_output=True).stdout:
        sys.exit(f"{version} is released: what was kept of it stays")
    with TemporaryDirectory() as folder:
        os.environ.pop("SVC_DATABASE_URL", None)
        os.environ |= {"SVC_DATA_DIR": folder, "SVC_SECRET_KEY": SECRET}
        os.environ["DJANGO_SETTINGS_MODULE"] = "meshmgmt.settings"
        django.setup()
        _fill()
        made = Path(folder) / "kept.zip"
        call_command("backup", str(made))
        (SCHEMAS / f"{version}.zip").write_bytes(made.read_bytes())
    lines = (f"{total}  {path}\n" for path, total in sums().items())
    (SCHEMAS / f"{version}.sha256").write_text("".join(lines))


def _fill() -> None:
    from events.proof import heads  # noqa: PLC0415 - Django is set up by now
    from events.streams import rollups  # noqa: PLC0415
    from meshmgmt.accounts.models import AccessToken, User  # noqa: PLC0415
    from meshmgmt.accounts.tokens import token_hash  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    call_command("seed")
    owner = User.objects.filter(role="owner").first()
    late = datetime(2100, 1, 1, tzinfo=UTC)
    kept = {"user": owner, "name": "kept", "hash": token_hash(TOKEN)}
    AccessToken._base_manager.bulk_create([AccessToken(**kept, expires_at=late)])
    heads.keep_up()
    rollups.roll_up(least=1)
    for app in apps.get_app_configs():
        if app.label not in NOT_OURS:
            for model in app.get_models(include_auto_created=True):
                _row(model)


def _row(model: "type[Model]") -> "Model":
    """Return a row of a table, made without a service when there is none."""
    found = model._base_manager.first()
    if found is None:
        fields = model._meta.concrete_fields
        values = {field.name: _value(field) for field in fields if _lacks_value(field)}
        [found] = model._base_manager.bulk_create([model(**values)])
    return found


def _lacks_value(field: "Field[Any, Any]") -> bool:
    has_own = field.has_default() or field.null or field.name in {"pk", "id"}
    return not has_own or field.is_relation


def _value(field: "Field[Any, Any]") -> Any:
    if field.is_relation:
        return _row(field.related_model)  # type: ignore[arg-type]
    if field.choices:
        return field.flatchoices[0][0]
    kind = field.get_internal_type()
    now = datetime.now(UTC)
    made = {
        "BinaryField": b"kept",
        "BooleanField": True,
        "DateField": now.date(),
        "DateTimeField": now,
        "JSONField": TARGET if field.name == "target" else {},
    }
    return made.get(kind, next(_numbers) if "Integer" in kind else "kept")


_numbers: Final = count(1)

if __name__ == "__main__":
    main()
