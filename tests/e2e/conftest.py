"""Fixtures of this room."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.browsers import chromium
from tests.servers import Server, running_server


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser; tests close the pages that would go on asking for something."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a running server over the demo data, prepared as `make run` does.

    Tests may add to the data, and take away what they added.
    """
    folder = tmp_path_factory.mktemp("demo") / "var"
    with running_server(folder, content="demo") as started:
        yield started
