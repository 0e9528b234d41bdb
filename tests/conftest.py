"""Fixtures of the whole suite."""

import os
import tempfile
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import settings as hypothesis_settings

# Every example counts, none is a matter of the machine's speed.
hypothesis_settings.register_profile("fast", max_examples=60, deadline=None)
hypothesis_settings.register_profile("full", max_examples=2000, deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


def pytest_configure(config: pytest.Config) -> None:
    """Put SQLite's test database into a file: threads need real connections.

    Durability is switched off for speed; crash tests start servers of their own.
    """
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3"):
        folder = Path(tempfile.gettempdir()) / f"meshmgmt-tests-{os.getuid()}"
        folder.mkdir(exist_ok=True)
        run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
        database.setdefault("TEST", {})["NAME"] = str(folder / f"{run}.sqlite3")
        database["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
    # Each password hash would cost a third of a second.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
