"""The folder of one run of the suite: its databases and what is made once for all.

The process that the user started makes it and removes it at the end; the processes of
pytest-xdist inherit its path. Two runs at once have two folders.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from meshmgmt.env import BASE_DIR

VARIABLE: Final = "MESHMGMT_TESTS_FOLDER"
AT_END: Final = ExitStack()
"""What this process has for all its tests; given back when it ends."""

CONTENTS: Final = {
    "tables": ("", "migrate --verbosity 0"),
    "owner": ("tables", "welcome"),
    "demo": ("tables", "seed --profile demo", "welcome"),
}
"""What a new installation may hold: all of another, and what commands add to it."""

_FOREIGN: Final = ("SVC_", "PROMETHEUS_", "GUNICORN", "COV_", "PYTEST_")


def make() -> None:
    """Make the folder of this run."""
    os.environ[VARIABLE] = tempfile.mkdtemp(prefix="meshmgmt-tests-")


def remove() -> None:
    """Remove the folder of this run with everything in it."""
    shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)


def path() -> Path:
    """Return the folder of this run."""
    return Path(os.environ[VARIABLE])


def clean_environ() -> dict[str, str]:
    """Return this process's environment without anything of the service."""
    return {k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)}


def share_static_files(data_dir: Path) -> None:
    """Let all servers of this run collect static files into one folder: once, that is."""
    mine = data_dir / "static"
    if VARIABLE in os.environ and not mine.is_symlink():
        shared = path() / "static"
        shared.mkdir(exist_ok=True)
        mine.symlink_to(shared)


def copy_migrated_database(target: Path) -> None:
    """Copy an SQLite file with all migrations, made once per run, to `target`."""
    shutil.copy(_made("tables") / "db.sqlite3", target)


def copy_data(content: str, folder: Path) -> None:
    """Copy a folder of data with such an SQLite file, made once per run, to `folder`."""
    copy_files(_made(content), folder)


def copy_files(source: Path, folder: Path) -> None:
    """Copy what a folder of data holds but for what belongs to one run of a server."""
    aside = shutil.ignore_patterns("static", "run", "*-lock*")
    shutil.copytree(source, folder, ignore=aside, dirs_exist_ok=True)


def once(name: str, make: Callable[[Path], None]) -> Path:
    """Return a folder of this run, which the first process that asks for it makes."""
    folder = path() / name
    done = folder.with_suffix(".done")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            make(folder)
            done.touch()
    return folder


def _made(content: str) -> Path:
    def make(folder: Path) -> None:
        if before := CONTENTS[content][0]:
            copy_data(before, folder)
        add(content, folder)

    return once(content, make)


def add(content: str, folder: Path, url: str = "") -> None:
    """Run the commands that a content is made by."""
    folder.mkdir(exist_ok=True)
    environ = {**clean_environ(), "SVC_DATA_DIR": str(folder)}
    if url:
        environ["SVC_DATABASE_URL"] = url
    for words in CONTENTS[content][1:]:
        command = [sys.executable, "manage.py", *words.split()]
        subprocess.run(
            command, cwd=BASE_DIR, env=environ, check=True, stdout=subprocess.DEVNULL
        )
