"""The server of the end-to-end tests: one per process that runs tests."""

from collections.abc import Iterator

import pytest

from tests.servers import Server, running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a running server over an empty database, prepared as `make run` does."""
    with running_server(tmp_path_factory.mktemp("server") / "var") as started:
        started.manage("welcome")
        yield started


@pytest.fixture(scope="session")
def token(server: Server) -> str:
    """Return the token that the first run made."""
    return (server.folder / "token").read_text().strip()
