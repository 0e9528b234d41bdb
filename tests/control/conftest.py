"""One deployment with a port for peers, for all tests that only use it."""

from collections.abc import Iterator

import pytest

from tests.control.deployment import Deployment, deployed


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a running deployment."""
    with deployed(tmp_path_factory.mktemp("peers") / "var") as running:
        yield running
