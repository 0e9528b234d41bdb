"""What the README tells to type to connect a peer works, word for word."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from meshmgmt.env import BASE_DIR
from tests.control.deployment import Deployment, deployed
from tests.e2e.test_readme import blocks, typed
from tests.servers import GUNICORN
from tests.waiting import until


@pytest.mark.slow
@pytest.mark.sqlite
def test_connecting_a_peer_works_literally(tmp_path: Path):
    simulate, allow = blocks("Connect a peer")
    folder = tmp_path / "server"
    # On the data that a reader has, whose access tests refuse some policies.
    with deployed(
        folder, everybody_allowed=False, command=GUNICORN, content="demo"
    ) as deployment:
        known = len(deployment.server.ask("GET", "/api/peers"))
        folder = tmp_path / "checkout"
        folder.mkdir()
        (folder / "var").symlink_to(deployment.server.folder)
        for name in (".venv", "manage.py"):
            (folder / name).symlink_to(BASE_DIR / name)
        output = folder / "output"
        running = start(simulate, deployment, folder, output)
        try:
            until(lambda: output.read_text().count("0 peers") >= 3, patience=90)
            figures = deployment.server.folder / "run" / "peers.json"
            # Written every other second, slower than this test types.
            until(
                lambda: json.loads(figures.read_text())["connected"] == 3, patience=60
            )
            here = {"cwd": folder, "env": environment(deployment)}
            printed = typed(allow, deployment.server, **here).stdout
            assert "everybody pings everybody" in printed
            assert "peer streams sync: 3" in printed
            until(lambda: f" {known + 2} peers" in output.read_text())
        finally:
            os.killpg(running.pid, signal.SIGINT)
            assert running.wait(60) == 0


def environment(deployment: Deployment) -> dict[str, str]:
    return {**deployment.server.environ, "SVC_GRPC_BIND": deployment.bind}


def start(
    block: str, deployment: Deployment, folder: Path, output: Path
) -> "subprocess.Popen[bytes]":
    with output.open("wb") as file:
        return subprocess.Popen(
            ["bash", "-c", f"exec {block}"],
            cwd=folder,
            env=environment(deployment),
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
