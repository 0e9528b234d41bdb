"""Fixtures of this room."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from meshmgmt.env import BASE_DIR
from tests.runfolder import clean_environ, once

FOLDERS = ("meshmgmt", "dns", "groups", "events", "observability", "templates")
ASIDE = ("requirements", "deploy", "scripts")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE")
ELSEWHERE = (("one", "UTC", 0o002), ("two", "Asia/Tokyo", 0o077))


@pytest.fixture(scope="session")
def built() -> tuple[Path, Path]:
    """What `make dist` makes of a repository with what is here, in two folders."""
    folder = once("dist", _distribute)
    return folder / "one", folder / "two"


def _distribute(folder: Path) -> None:
    source = folder / "source"
    source.mkdir()
    for name in (*FOLDERS, *ASIDE):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(BASE_DIR / name, source / name, symlinks=True, ignore=ignored)
    for name in FILES:
        shutil.copy(BASE_DIR / name, source / name)
    nobody = ("-c", "user.name=a", "-c", "user.email=a@mesh.dev", "commit", "-qm", "a")
    for words in (("init", "-q"), ("add", "."), nobody):
        subprocess.run(["git", *words], cwd=source, check=True)
    build(folder, "dist")


def build(folder: Path, script: str) -> None:
    """Run a script of the repository in the folder for each place of `ELSEWHERE`."""
    for name, zone, mask in ELSEWHERE:
        program = folder / "source" / "scripts" / script
        environ = {**clean_environ(), "TZ": zone}
        command = [sys.executable, str(program), str(folder / name)]
        subprocess.run(command, env=environ, umask=mask, check=True)
