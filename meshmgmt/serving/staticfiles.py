"""Static files under names that hold a hash of their content, compressed, cached for years.

Whoever starts the service has no step of their own for it: the first worker collects the
files into the data folder, and later ones find them there until the installed ones change.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.management import call_command
from whitenoise.storage import (  # type: ignore[import-untyped]
    CompressedManifestStaticFilesStorage,
)

from meshmgmt.core.locks import lock

_LOG: Final = logging.getLogger(__name__)
_STAMP: Final = ".collected"
_HASHED: Final = re.compile(r"\.[0-9a-f]{12}(\.[^./]+)?$")
_LEFT_OUT: Final = ("redoc",)
"""Another reader of the API's schema, which no page uses."""


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # untyped
    """Addresses with hashes; plain ones of files that nobody has collected."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._addresses: dict[str, str] = {}

    def url(self, name: str, force: bool = False) -> str:
        """Return the address of a file; a page has twenty, which stay as they are."""
        if name not in self._addresses:
            self._addresses[name] = super().url(name, force)
        return self._addresses[name]

    def stored_name(self, name: str) -> str:
        """Return the collected file's name."""
        hashed: str = self.hashed_files.get(self.hash_key(name), name)
        return hashed


def collect() -> None:
    """Collect the static files, unless those installed are collected already.

    Where that is not possible the service works without: with plain names, which browsers
    ask for again and again.
    """
    root = Path(settings.STATIC_ROOT)
    try:
        root.mkdir(parents=True, exist_ok=True)
        with (root / _STAMP).open("a+", encoding="ascii") as stamp:
            lock(stamp)
            installed = _fingerprint()
            used = _named(root)  # by a server that is running yet
            stamp.seek(0)
            if used and stamp.read() == installed:
                return
            call_command(
                "collectstatic",
                interactive=False,
                verbosity=0,
                ignore_patterns=list(_LEFT_OUT),
            )
            stamp.truncate(0)
            stamp.write(installed)
            _clear(root, used | _named(root))
    except OSError as error:
        _LOG.warning("static files keep plain names, for %s: %s", root, error)


def _named(root: Path) -> set[str]:
    """Return the hashed names that pages use."""
    manifest = root / "staticfiles.json"
    if not manifest.exists():
        return set()
    try:
        return set(json.loads(manifest.read_text(encoding="utf-8"))["paths"].values())
    except ValueError:
        # Cut off as the power went: Django would not even collect the files anew.
        manifest.unlink()
        return set()


def _clear(root: Path, used: set[str]) -> None:
    """Delete the hashed files of versions before the last one."""
    for path in root.rglob("*"):
        name = str(path.relative_to(root)).removesuffix(".gz")
        if name not in used and _HASHED.search(name) and path.is_file():
            path.unlink()


def _fingerprint() -> str:
    """Return what changes when an installed file does."""
    return hashlib.sha256("\n".join(sorted(_facts())).encode()).hexdigest()


def _facts() -> Iterator[str]:
    for finder in finders.get_finders():
        for name, storage in finder.list(_LEFT_OUT):
            facts = Path(storage.path(name)).stat()
            yield f"{name} {facts.st_size} {facts.st_mtime_ns}"
