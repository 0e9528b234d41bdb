"""Databases that are set up step by step."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from meshmgmt.env import BASE_DIR


def manage(folder: Path, *arguments: str) -> None:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("SVC_")
    }
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=BASE_DIR,
        env={**environment, "SVC_DATA_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.sqlite
def test_apps_may_be_migrated_one_by_one(tmp_path: Path) -> None:
    """The account and the group of all peers wait until their events can be kept."""
    manage(tmp_path, "migrate", "accounts")
    manage(tmp_path, "migrate")
    with closing(sqlite3.connect(tmp_path / "db.sqlite3")) as database:
        query = "SELECT activity_code FROM events_auditevent ORDER BY activity_code"
        codes = [code for (code,) in database.execute(query)]
    assert codes == ["account.create", "group.add"]
