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
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from meshmgmt.env import BASE_DIR

VARIABLE: Final = "MESHMGMT_TESTS_FOLDER"
AT_END: Final = ExitStack()
"""What this process has for all its tests; given back when it ends."""

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
    folder = path() / "template"
    folder.mkdir(exist_ok=True)
    database = folder / "db.sqlite3"
    done = folder / "done"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            migrate({**clean_environ(), "SVC_DATA_DIR": str(folder)})
            done.touch()
    shutil.copy(database, target)


def migrate(environ: Mapping[str, str]) -> None:
    """Give the database that an environment names all tables."""
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    subprocess.run(command, cwd=BASE_DIR, env=environ, check=True)
