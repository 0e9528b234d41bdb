"""One deployment with a port for peers, for all tests of a process that runs them."""

from collections.abc import Iterator

import pytest
from django.db import connections

from tests.control.deployment import Deployment, deployed
from tests.servers import GUNICORN


@pytest.fixture(scope="session")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Yield a running deployment whose peers report their traffic every two seconds."""
    told = {
        "SVC_FLOW_INTERVAL": "2",
        "SVC_RELAY_URLS": "rel://relay.test:33080",
        "SVC_RELAY_SECRET": "rsecret",
    }
    folder = tmp_path_factory.mktemp("peers") / "var"
    with deployed(folder, told, command=GUNICORN) as running:
        yield running


@pytest.fixture
def upset(deployment: Deployment) -> Iterator[Deployment]:
    """Yield the deployment to a test that stops its process for peers, or floods it.

    The next test has another process, unless this one had a usual one in the end.
    """
    before = deployment.process
    yield deployment
    if deployment.process in (None, before) or not deployment.usual:
        deployment.restart()


@pytest.fixture
def connections_that_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let threads leave no connection to the tests' database behind."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", 0)
