"""The commands of docs/dns.md work on the demo data, over a real server too."""

import json
import re
import shlex
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.servers import Server, migrated_database


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_commands_work_on_the_demo_data(tmp_path: Path):
    text = (BASE_DIR / "docs" / "dns.md").read_text(encoding="utf-8")
    commands, requests = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    with migrated_database(tmp_path) as url:
        server = Server(tmp_path, database_url=url)
        server.manage("seed")
        asked = servers_asked(commands, server)
        assert asked
        assert all(ip_address(ip).is_loopback for ip, _ in asked)
        ann = ("--user", "ann@mesh.dev", "--role", "owner")
        token = server.manage("create_token", *ann).strip()
        printed = run(commands, server, tmp_path)
        assert "=> printer-gbg.office.halden.internal: answered by" in printed
        assert all(f"{ip} port {port}: " in printed for ip, port in asked)
        assert '"kind": "nodata"' in printed
        assert "several_primaries" in printed
        assert "dry run, nothing written: 1 added, 0 changed, 0 removed" in printed
        server.start()
        try:
            run(requests, server, tmp_path, AUTH=f"Authorization: Token {token}")
        finally:
            server.stop()


def servers_asked(commands: str, server: Server) -> list[tuple[str, int]]:
    """Return the address and port of each server that the commands would ask."""
    found = []
    for line in commands.splitlines():
        if "--live" in line:
            words = shlex.split(line.removeprefix("python manage.py "))
            words.remove("--live")
            outcome = json.loads(server.manage(*words, "--json"))["outcome"]
            found += [(each["ip"], each["port"]) for each in outcome["servers"]]
    return found


def run(script: str, server: Server, folder: Path, **variables: str) -> str:
    """Run a shell script in a folder of its own; every command must succeed."""
    manage = f"{sys.executable} {BASE_DIR / 'manage.py'}"
    commands = script.replace("python manage.py", manage)
    environment = {**server.environ, "API": f"http://127.0.0.1:{server.port}/api"}
    options: dict[str, Any] = {"cwd": folder, "env": environment | variables}
    done = ran("bash", "-euo", "pipefail", "-c", commands, timeout=100, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout
