"""Fixtures of this room: a running server shared by tests that only look."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observability.servers import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two workers."""
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for a server of the test's own."""
    return tmp_path / "server"
