"""One deployment with a port for peers, for all tests of a process that runs them."""

from collections.abc import Iterator

import pytest

from tests.control.deployment import Deployment, deployed


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a running deployment."""
    with deployed(tmp_path_factory.mktemp("peers") / "var") as running:
        yield running


@pytest.fixture
def upset(deployment: Deployment) -> Iterator[Deployment]:
    """Yield the deployment to a test that stops its process for peers, or floods it."""
    yield deployment
    deployment.tls = b""
    deployment.restart()
