"""Fixtures of this room."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.backup.files import SECRET, brief, run
from tests.databases import KIND, Elsewhere, elsewhere

_current: list[Path] = []


@pytest.fixture
def beside(db: None, tmp_path: Path, settings: Any) -> Elsewhere:
    """Return what makes a new database the one of this process, for a block."""
    settings.SECRET_KEY = SECRET
    settings.SVC = replace(
        settings.SVC, runtime_dir=tmp_path / "run", data_dir=tmp_path / "data"
    )
    return partial(elsewhere, folder=tmp_path)


@pytest.fixture
def current(beside: Elsewhere, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same company at the newest schema, made once."""
    if not _current:
        file = tmp_path_factory.mktemp("current") / "file"
        with beside(KIND):
            run("restore", brief())
            run("backup", file)
        _current.append(file)
    return _current[0]
