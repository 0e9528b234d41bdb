"""Fixtures of this room."""

from functools import partial
from pathlib import Path

import pytest

from tests.databases import Elsewhere, elsewhere


@pytest.fixture
def beside(db: None, tmp_path: Path) -> Elsewhere:
    """Return what makes a new database the one of this process, for a block."""
    return partial(elsewhere, folder=tmp_path)
