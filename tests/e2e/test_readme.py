"""The README's first five minutes, word for word."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Final

from meshmgmt.env import BASE_DIR
from tests.servers import Server

README: Final = BASE_DIR / "README.md"
ADDRESS: Final = "127.0.0.1:8000"
MARK: Final = "=== next block ==="


def blocks(title: str) -> list[str]:
    """Return the shell blocks of a section."""
    text = README.read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def run_blocks(server: Server, folder: Path, blocks: list[str]) -> list[str]:
    """Run all blocks in one shell, as a reader would, and return what each printed."""
    (folder / "var").symlink_to(server.folder)
    script = f"\necho; echo '{MARK}'\n".join(blocks)
    assert script.count(ADDRESS) == 1
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace(ADDRESS, server.url[7:])],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split(MARK)


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the objects printed one per line."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def test_the_first_five_minutes_work_literally(server: Server, tmp_path: Path) -> None:
    _, groups, nameservers, records, trail = run_blocks(
        server, tmp_path, blocks("First five minutes")
    )

    group = json.loads(groups)
    assert group["name"] == "branch-office"

    nameserver_group = json.loads(nameservers)
    assert nameserver_group["groups"] == [group["id"]]
    assert nameserver_group["nameservers"] == [
        {"ip": "10.20.0.1", "ns_type": "udp", "port": 53},
        {"ip": "10.20.0.2", "ns_type": "udp", "port": 53},
    ]

    assert [(record["name"], record["type"]) for record in json_lines(records)] == [
        ("app.svc.branch.internal", "A"),
        ("app.svc.branch.internal", "AAAA"),
        ("www.svc.branch.internal", "CNAME"),
        ("*.svc.branch.internal", "A"),
    ]

    events = [line.split() for line in trail.splitlines() if line.strip()][:7]
    assert [code for _, _, code, *_ in events] == [
        *["dns.zone.record.create"] * 4,
        "dns.zone.create",
        "nameserver.group.add",
        "group.add",
    ]
    assert {email for _, email, *_ in events} == {"owner@mesh.internal"}


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    local = [link for link in links if not link.startswith("http")]
    assert local
    assert [link for link in local if not (BASE_DIR / link).exists()] == []


def test_the_questions_to_the_streams_are_answered(
    server: Server, tmp_path: Path
) -> None:
    variables = blocks("First five minutes")[:1]
    questions = blocks("A question to each stream")
    assert len(questions) == 3
    _, audit, traffic, proxy = run_blocks(server, tmp_path, variables + questions)
    assert isinstance(json.loads(audit), list)
    assert json.loads(traffic)["group_by"] == ["user", "destination"]
    assert json.loads(proxy)["group_by"] == ["source_ip", "host"]
