"""`manage.py simulate_peers`: peers that exist on the wire alone."""

import signal
import subprocess
import sys

import pytest

from meshmgmt.env import BASE_DIR
from tests.control.deployment import deployed
from tests.waiting import until


@pytest.mark.slow
def test_simulated_peers_enrol_follow_changes_and_are_removed(tmp_path):
    with deployed(tmp_path / "var") as deployment:
        output = tmp_path / "output"
        with output.open("w") as file:
            running = subprocess.Popen(
                [sys.executable, "manage.py", "simulate_peers", "3", "--remove"],
                cwd=BASE_DIR,
                env={**deployment.server.environ, "SVC_GRPC_BIND": deployment.bind},
                stdout=file,
                stderr=subprocess.STDOUT,
            )
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
