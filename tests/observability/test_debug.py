"""Bundles and timed debug runs of a real server."""

import base64
import fcntl
import json
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from meshmgmt.env import BASE_DIR
from observability.debug import bundle, capture
from observability.logs import loglevels
from tests.servers import Server
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.sqlite

PEERS = [
    {
        "name": f"laptop-{n}",
        "wg_public_key": base64.b64encode(bytes([200 + n]) * 32).decode(),
    }
    for n in (1, 2)
]
FILES = {
    *("README.txt", "status.txt", "config.txt", "versions.txt", "migrations.txt"),
    *("database.txt", "metrics.txt", "logs/recent.log"),
}


@pytest.fixture(scope="module")
def peers(server: Server) -> Iterator[list[dict[str, Any]]]:
    """The peers of the server, two more than it had."""
    lines = "\n".join(json.dumps(peer) for peer in PEERS)
    server.manage("import_peers", "-", text=lines)
    found: list[dict[str, Any]] = server.ask("GET", "/api/peers")
    yield found
    for peer in found:
        if peer["name"] in {mine["name"] for mine in PEERS}:
            server.call("DELETE", f"/api/peers/{peer['id']}")


def debugging(server: Server, *words: str) -> "subprocess.Popen[str]":
    """Start a timed debug run."""
    # A shell that runs tests in the background makes its children ignore Ctrl-C. No
    # code of ours may run between fork and exec to undo that: gRPC's threads are here.
    command = ["env", "--default-signal=INT", sys.executable, "manage.py", "debug"]
    return subprocess.Popen(
        [*command, "for", *words],
        cwd=BASE_DIR,
        env=server.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read(path: str | Path) -> dict[str, str]:
    """Return the files of a bundle."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


@pytest.mark.slow
def test_a_bundle_holds_everything_and_no_secret(
    server: Server, peers: list[dict[str, Any]]
):
    server.call("GET", "/api/dns/zones")
    server.get("/api/dns/zones?password=hunter2hunter2")
    answer = server.manage("debug", "bundle")
    path = answer.splitlines()[-1]
    assert Path(path).stat().st_mode & 0o077 == 0
    files = read(path)
    assert FILES | {"effective-dns.ndjson", "dns-findings.json"} == set(files)
    assert "Not collected" not in files["README.txt"]
    assert "running: yes" in files["status.txt"]
    assert f"SVC_METRICS_PORT={server.metrics_port}" in files["config.txt"]
    assert "management_http_request_counter_total " in files["metrics.txt"]
    assert "groups.0001_initial" in files["migrations.txt"]
    assert "prometheus_client==" in files["versions.txt"].replace("-", "_")
    assert "/api/dns/zones" in files["logs/recent.log"]
    assert len(files["effective-dns.ndjson"].splitlines()) == len(peers)
    everything = "\n".join(files.values())
    signing_key = (server.folder / "secret_key").read_text().strip()
    for secret in (server.token, signing_key, "hunter2hunter2"):
        assert secret not in everything
        assert secret not in server.printed()


@pytest.mark.slow
def test_an_anonymised_bundle_names_no_network(
    server: Server, peers: list[dict[str, Any]]
):
    server.call("GET", "/api/dns/zones?search=db.corp.internal")
    for peer in PEERS:
        server.call("GET", f"/api/peers?name={peer['name']}")
    answer = server.manage("debug", "bundle", "--anonymize")
    everything = "\n".join(read(answer.splitlines()[-1]).values())
    names = [peer["name"] for peer in PEERS]
    addresses = [peer["ip"] for peer in peers]
    for word in (*addresses, "corp.internal", "mesh.internal", *names):
        assert not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", everything)
    for word in ("corp.internal", "mesh.internal"):
        assert word not in everything
    assert "Addresses and domain names replaced: yes" in everything
    assert "127.0.0.1" in everything
    # The server's own log is never touched.
    assert "db.corp.internal" in server.printed()
    status = server.manage("status", "--json", SVC_ANONYMIZE="true")
    assert json.loads(status)["server"]["running"] is True


@pytest.mark.django_db
def test_log_files_of_one_name_are_both_in_a_bundle(idle: Path, tmp_path: Path):
    files = [tmp_path / folder / "mesh.json" for folder in ("one", "two")]
    for file in files:
        file.parent.mkdir()
        file.write_text(f"of {file.parent.name}\n")
    config = replace(settings.SVC, log_files=tuple(map(str, files)))
    held = read(bundle.bundle_now(config, tmp_path, anonymised=False, quiet=True))
    for file in files:
        assert f"of {file.parent.name}\n" in held[f"logs{file}"]


@pytest.mark.slow
def test_a_timed_run_keeps_answers_and_restores_the_level(
    server: Server, peers: list[dict[str, Any]]
):
    peer, asked = peers[0]["id"], 0
    run = debugging(server, "6s")

    def ask() -> bool:
        nonlocal asked
        asked += 1
        status = server.call("GET", f"/api/peers/{peer}/dns").status
        return status == 200 and bool(server.records(level="trace"))

    until(ask, "an answer served at level trace")
    out, err = run.communicate(timeout=PATIENCE)
    assert run.returncode == 0, err
    assert server.manage("log_level") == "info (configured)\n"
    files = read(out.splitlines()[-1])
    assert "Level trace was in force for 6s." in files["README.txt"]
    served = [json.loads(row) for row in files["served.ndjson"].splitlines()]
    assert 1 <= len(served) <= asked
    assert {(row["kind"], row["key"]) for row in served} == {("effective-dns", peer)}
    assert files["start/effective-dns.ndjson"] == files["end/effective-dns.ndjson"]
    assert not (server.runtime_dir / "served.ndjson").exists()


def test_a_second_run_is_refused(serving: Path):
    with (serving / bundle.LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="another debug run is on") as refused:
            call_command("debug", "for", "1s")
    assert refused.value.returncode == 1
    assert not loglevels.read(serving).rules


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_run_restores_the_level_and_leaves_no_bundle(
    server: Server, number: signal.Signals, tmp_path: Path
):
    run = debugging(server, "60s", "--output", str(tmp_path))
    until(lambda: loglevels.read(server.runtime_dir).rules, "another level")
    kept = server.runtime_dir / capture.FILE
    kept.touch()
    run.send_signal(number)
    out, err = run.communicate(timeout=PATIENCE)
    assert list(tmp_path.iterdir()) == []
    assert out == ""
    [rule] = loglevels.read(server.runtime_dir).rules or [None]
    if number is signal.SIGKILL:
        # Nobody is left to take the change back: its own end does.
        assert rule is not None
        assert rule.expires is not None
        loglevels.reset(server.runtime_dir)
    else:
        assert rule is None
        assert not kept.exists()
        assert run.returncode == 130
        assert "the log level is restored and no bundle was made" in err


@pytest.mark.django_db
@pytest.mark.usefixtures("idle")
def test_a_bundle_that_cannot_be_written_leaves_nothing():
    with pytest.raises(CommandError, match="/proc/nowhere") as refused:
        call_command("debug", "bundle", "--output", "/proc/nowhere")
    assert refused.value.returncode == 2
    assert len(str(refused.value).splitlines()) == 1


def test_a_bundle_is_made_without_a_server_and_without_a_database(folder: Path):
    server = Server(folder, content="", SVC_DATABASE_URL="postgresql://127.0.0.1:1/x")
    path = server.manage("debug", "bundle").splitlines()[-1]
    files = read(path)
    assert "running: no" in files["status.txt"]
    assert "could not be collected" in files["migrations.txt"]
    assert "Not collected:" in files["README.txt"]


@pytest.mark.slow
def test_status_says_what_is_up(server: Server, peers: list[dict[str, Any]]):
    text = server.manage("status", "--detail")
    assert f"pid: {server.info()['pid']}" in text
    assert f"peers disconnected: {len(peers)}" in text
    document = json.loads(server.manage("status", "--json"))
    assert document["ready"] is True
    assert document["counts"]["peers disconnected"] == len(peers)
    assert document["log_level"] == ["info (configured)"]


@pytest.mark.django_db
@pytest.mark.usefixtures("idle")
def test_status_without_a_server_is_a_failure(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        call_command("status")
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert "running: no" in printed.out
    assert printed.err == ""
