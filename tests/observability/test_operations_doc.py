"""Every command of docs/operations.md runs as written, on the demo data."""

import re
import sys
from pathlib import Path

import pytest
import yaml

from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.servers import Server
from tests.waiting import until

DOCUMENT = BASE_DIR / "docs" / "operations.md"


def commands() -> list[str]:
    """Return the commands, in order."""
    blocks = re.findall(r"```console\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines()]


def as_here(command: str, server: Server) -> str:
    """Return a command for the server under test instead of the one of `make run`."""
    return (
        command.replace("127.0.0.1:8000", f"127.0.0.1:{server.port}")
        .replace("127.0.0.1:9090", f"127.0.0.1:{server.metrics_port}")
        .replace("./manage.py", f"{sys.executable} manage.py")
        .replace("var/run/", f"{server.runtime_dir}/")
    )


@pytest.mark.sqlite
@pytest.mark.slow
def test_every_command_runs_as_written(folder: Path):
    with Server(folder, content="demo") as server:
        until((server.runtime_dir / "housekeeping.json").exists, "a start")
        for command in commands():
            script = f"set -o pipefail; {as_here(command, server)}"
            environ = {**server.environ, "TOKEN": server.token}
            done = ran("/bin/bash", "-c", script, env=environ, timeout=120)
            assert done.returncode == 0, (command, done.stdout, done.stderr)
            assert done.stdout.strip(), command
            refused = re.match(r'\{"message":', done.stdout)
            assert not refused, (command, done.stdout)
        assert server.token not in server.printed()


def test_every_alert_has_its_line():
    rules = yaml.safe_load((BASE_DIR / "deploy/prometheus/alerts.yml").read_text())
    text = DOCUMENT.read_text()
    for rule in rules["groups"][0]["rules"]:
        assert f"`{rule['alert']}`" in text
