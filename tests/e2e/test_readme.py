"""What README and documentation tell to type works, word for word."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from meshmgmt.env import BASE_DIR
from tests.control.deployment import deployed
from tests.programs import ran
from tests.servers import GUNICORN, Server
from tests.waiting import until

# What people type does not differ by database.
pytestmark = pytest.mark.sqlite

README: Final = BASE_DIR / "README.md"
ADDRESS: Final = "127.0.0.1:8000"
MARK: Final = "=== next block ==="


def blocks(title: str, document: Path = README) -> list[str]:
    """Return the shell blocks of a section."""
    text = document.read_text(encoding="utf-8")
    section = text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def run_blocks(server: Server, folder: Path, blocks: list[str]) -> list[str]:
    """Run all blocks in one shell, as a reader would, and return what each printed."""
    (folder / "var").symlink_to(server.folder)
    script = f"\necho; echo '{MARK}'\n".join(blocks)
    done = typed(script, server, cwd=folder, env=server.environ)
    assert done.stderr == ""
    return done.stdout.split(MARK)


def typed(
    script: str, server: Server, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run a script, which names the server's address once, and has to succeed."""
    assert script.count(ADDRESS) == 1
    here = script.replace(ADDRESS, server.url[7:])
    done = ran("bash", "-euo", "pipefail", "-c", here, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def json_lines(text: str) -> list[dict[str, Any]]:
    """Return the objects printed one per line."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def most(answer: str, group_by: list[str]) -> dict[str, Any]:
    """Return the first group of a summary."""
    summary = json.loads(answer)
    assert summary["group_by"] == group_by
    first: dict[str, Any] = summary["groups"][0]
    return first


def test_the_first_five_minutes_work_literally(server: Server, tmp_path: Path):
    _, groups, nameservers, records, trail = run_blocks(
        server, tmp_path, blocks("First five minutes")
    )

    group = json.loads(groups)
    assert group["name"] == "branch-office"

    nameserver_group = json.loads(nameservers)
    assert nameserver_group["groups"] == [group["id"]]
    assert nameserver_group["nameservers"] == [
        {"ip": f"10.20.0.{last}", "ns_type": "udp", "port": 53} for last in (1, 2)
    ]

    kinds = [("app", "A"), ("app", "AAAA"), ("www", "CNAME"), ("*", "A")]
    wanted = [(f"{name}.svc.branch.internal", kind) for name, kind in kinds]
    assert [(made["name"], made["type"]) for made in json_lines(records)] == wanted

    events = [line.split() for line in trail.splitlines() if line.strip()][:7]
    made = ["dns.zone.create", "nameserver.group.add", "group.add"]
    codes = [code for _, _, code, *_ in events]
    assert codes == [*["dns.zone.record.create"] * 4, *made]
    assert {email for _, email, *_ in events} == {"owner@mesh.internal"}


def test_the_questions_to_the_streams_are_answered(demo: Server, tmp_path: Path):
    variables = blocks("First five minutes")[:1]
    questions = blocks("A question to each stream")
    assert len(questions) == 3
    _, audit, traffic, proxy = run_blocks(demo, tmp_path, variables + questions)
    codes = {event["activity_code"] for event in json.loads(audit)}
    assert codes == {"peer.group.delete"}
    assert most(traffic, ["user", "destination"])["value"] > 0
    assert most(proxy, ["source_ip", "host"])["value"] > 0


def test_the_questions_about_events_are_answered(demo: Server, tmp_path: Path):
    variables, *questions = blocks("Three questions", BASE_DIR / "docs" / "events.md")
    assert len(questions) == 3
    _, audit, traffic, proxy = run_blocks(demo, tmp_path, [variables, *questions])
    [deletion] = json.loads(audit)
    assert deletion["activity_code"] == "dns.zone.delete"
    assert deletion["initiator_name"] == "Olof Brandt"
    assert most(traffic, ["user", "destination"])["name"] == "Rui Almeida / db-01"
    assert most(proxy, ["source_ip", "host"])["key"]["host"] == "wiki.halden.internal"


@pytest.mark.slow
def test_a_change_is_planned_applied_taken_back_and_proven(
    demo: Server, tmp_path: Path
):
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "manage.py").symlink_to(BASE_DIR / "manage.py")
    # As a reader has who has read that far: the first key is made on the way.
    path = "/api/events/audit/tree-heads/latest"
    until(lambda: demo.call("GET", path).status == 200, "the first head", 90)
    variables = blocks("First five minutes")[:1]
    story = blocks("Change something without fear")
    _, plan, applied, reverted, proof, published = run_blocks(
        demo, tmp_path, variables + story
    )
    *touched, peers = plan.strip().splitlines()
    assert len(touched) == 9
    assert "disabled policy Applications to databases" in touched
    assert "deleted group Databases" in touched
    assert re.fullmatch(r"[1-9]\d* peers get another network map", peers)
    assert json.loads(applied) == {}
    done, group = json_lines(reverted)
    assert len(done["reverted"]) == 13
    assert group["name"] == "Databases"
    assert proof.strip().startswith("ok: ")
    assert "published heads were compared" in published


def test_a_write_that_breaks_a_promise_is_refused_as_told(demo: Server, tmp_path: Path):
    title = "A promise that every write keeps"
    story = blocks("First five minutes")[:1] + blocks(title)
    _, refused = run_blocks(demo, tmp_path, story)
    answer = json.loads(refused)
    assert answer["code"] == 409
    told = README.read_text(encoding="utf-8").replace("\n> ", " ")
    assert f" {answer['message']}\n" in told


@pytest.mark.slow
def test_connecting_a_peer_works_literally(tmp_path: Path):
    simulate, allow = blocks("Connect a peer")
    folder = tmp_path / "server"
    # On the data that a reader has, whose access tests refuse some policies.
    options: Any = {"command": GUNICORN, "content": "demo"}
    with deployed(folder, everybody_allowed=False, **options) as deployment:
        known = len(deployment.server.ask("GET", "/api/peers"))
        here = {**deployment.server.environ, "SVC_GRPC_BIND": deployment.bind}
        folder = tmp_path / "checkout"
        folder.mkdir()
        (folder / "var").symlink_to(deployment.server.folder)
        for name in (".venv", "manage.py"):
            (folder / name).symlink_to(BASE_DIR / name)
        output = folder / "output"
        command = ["bash", "-c", f"exec {simulate}"]
        with output.open("wb") as file:
            streams: Any = {"stdout": file, "stderr": subprocess.STDOUT}
            place: Any = {"cwd": folder, "env": here, "start_new_session": True}
            running = subprocess.Popen(command, **streams, **place)
        try:
            until(lambda: output.read_text().count("0 peers") >= 3, patience=90)
            figures = deployment.server.folder / "run" / "peers.json"
            # Written every other second, slower than this test types.
            until(lambda: json.loads(figures.read_text())["connected"] == 3)
            printed = typed(allow, deployment.server, cwd=folder, env=here).stdout
            assert "everybody pings everybody" in printed
            assert "peer streams sync: 3" in printed
            until(lambda: f" {known + 2} peers" in output.read_text())
        finally:
            os.killpg(running.pid, signal.SIGINT)
            assert running.wait(60) == 0
