"""`manage.py simulate_peers`: peers that exist on the wire alone."""

import signal
import subprocess
import sys
from typing import Any

import pytest

from meshmgmt.env import BASE_DIR
from tests.control.deployment import deployed
from tests.waiting import until


@pytest.mark.slow
def test_simulated_peers_enrol_follow_changes_and_are_removed(tmp_path):
    with deployed(tmp_path / "var") as deployment:
        output = tmp_path / "output"
        command = [sys.executable, "manage.py", "simulate_peers", "3", "--remove"]
        given = {**deployment.server.environ, "SVC_GRPC_BIND": deployment.bind}
        with output.open("w") as file:
            said: Any = {"stdout": file, "stderr": subprocess.STDOUT}
            running = subprocess.Popen(command, cwd=BASE_DIR, env=given, **said)
        try:
            until(lambda: "sim-1  map" in output.read_text(), patience=60)
            until(lambda: "2 peers" in output.read_text())
            peer = deployment.peer("sim-2")
            body = {**peer, "name": "storage"}
            deployment.api("PUT", f"/peers/{peer['id']}", body)
            until(lambda: "+storage" in output.read_text())
        finally:
            running.send_signal(signal.SIGINT)
            assert running.wait(60) == 0
        assert "3 peers removed" in output.read_text()
        assert deployment.api("GET", "/peers") == []
