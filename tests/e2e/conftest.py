"""Fixtures of this room."""

from collections.abc import Iterator

import pytest

from tests.servers import Server, running_server


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a running server over the demo data, prepared as `make run` does."""
    folder = tmp_path_factory.mktemp("demo") / "var"
    with running_server(folder, content="demo") as started:
        yield started


@pytest.fixture(scope="session")
def token(server: Server) -> str:
    """Return the token that the first run made."""
    return server.token
