"""Alert rules, the dashboard and the operators' commands against what really runs."""

import json
import re
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from meshmgmt.core.ids import new_id
from meshmgmt.env import BASE_DIR
from tests.programs import program, ran, running
from tests.servers import Server, free_port
from tests.waiting import until
from tests.wire import request

DEPLOY = BASE_DIR / "deploy"
RULES = DEPLOY / "prometheus" / "alerts.yml"
DOCUMENT = BASE_DIR / "docs/operations.md"
DASHBOARD = DEPLOY / "grafana" / "mesh.json"
MAPS = "management_account_network_map_object_count_bucket"
DURATION = "management_http_request_duration_ms_bucket"
WAIT = "management_store_global_lock_acquisition_duration_micro_bucket"


def buckets(name: str, counts: dict[str, int]) -> dict[str, str]:
    """Return a series for each bound, whose bucket gets so many more every minute."""
    return {f'{name}{{le="{bound}"}}': f"0+{n}x60" for bound, n in counts.items()}


def one(series: str, *, fires: str, silent: str) -> tuple[dict[str, str], ...]:
    """Return a case of one series, with the values for each."""
    return {series: fires}, {series: silent}


RESPONSES = 'management_http_response_code_total{code="%s"}'
# Alert -> series in which it fires, series in which it does not; one value a minute.
CASES: dict[str, tuple[dict[str, str], ...]] = {
    "MeshDown": one('up{job="mesh"}', fires="1 0x60", silent="1x60"),
    "MeshErrors": (
        {RESPONSES % 500: "0+10x60", RESPONSES % 200: "0+90x60"},
        {
            RESPONSES % 404: "0+90x60",
            RESPONSES % 500: "0+1x60",
            RESPONSES % 200: "0+90x60",
        },
    ),
    "MeshSlow": (
        buckets(DURATION, {"1000": 1, "2500": 10, "+Inf": 10}),
        buckets(DURATION, {"1000": 10, "+Inf": 10}),
    ),
    "MeshLoginSlow": one(
        "management_grpc_login_request_high_latency_counter",
        fires="0x50 1x10",
        silent="7x60",
    ),
    "MeshWriteLockContended": (
        buckets(WAIT, {"1000000": 1, "5000000": 10, "+Inf": 10}),
        buckets(WAIT, {"1000000": 10, "5000000": 10, "+Inf": 10}),
    ),
    "MeshDatabaseAway": one("mesh_inventory_up", fires="1x50 0x10", silent="1x59 0"),
    "MeshMigrationsMissing": one(
        "django_migrations_unapplied_total", fires="2x60", silent="0x60"
    ),
    "MeshLogLost": one("mesh_log_write_errors_total", fires="0x55 3x5", silent="3x60"),
    "MeshJobFailing": (
        {'mesh_job_runs_total{job="retention",result="failed"}': "0x30 1x30"},
        {
            'mesh_job_runs_total{job="retention",result="failed"}': "1x60",
            'mesh_job_runs_total{job="retention",result="ok"}': "0+1x60",
        },
    ),
    "MeshTokensExpiring": (
        {'mesh_tokens{state="expiring"}': "1x70"},
        {'mesh_tokens{state="expiring"}': "0x70", 'mesh_tokens{state="valid"}': "9x70"},
    ),
    "MeshNetworkMapLarge": (
        buckets(MAPS, {"5000": 1, "+Inf": 2}),
        # Prometheus 3 writes whole bounds as 5000.0.
        buckets(MAPS, {"5000.0": 2, "+Inf": 2}),
    ),
    "MeshPeersVanished": one(
        'mesh_peers{state="connected"}', fires="100x52 20x8", silent="100x52 80x8"
    ),
    "MeshAccessTestFailing": (
        {'mesh_access_tests{state="failing",enforced="true"}': "1x60"},
        {
            'mesh_access_tests{state="failing",enforced="true"}': "0x60",
            'mesh_access_tests{state="passing",enforced="true"}': "9x60",
        },
    ),
    "MeshSignInErrors": one(
        "management_idp_request_error_counter", fires="0x55 1x5", silent="1x60"
    ),
    "MeshRelayDown": one(
        'mesh_relay_probes_total{listener="ws",result="failed"}',
        fires="0+1x60",
        silent="4x60",
    ),
}


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load(RULES.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def expressions() -> list[tuple[str, str]]:
    """Return where each expression stands, and it."""
    dashboard = json.loads(DASHBOARD.read_text())
    found = [(rule["alert"], rule["expr"]) for rule in rules()]
    for panel in dashboard["panels"]:
        found += [(panel["title"], target["expr"]) for target in panel["targets"]]
    return found


def metric_names(expression: str) -> set[str]:
    """Return the metrics an expression asks for."""
    plain = re.sub(r'"[^"]*"|by \([^)]*\)|\[[^\]]*\]', "", expression)
    words = re.findall(r"[a-z_][a-z0-9_:]*", plain)
    prefixes = ("management_", "mesh_", "process_", "django_", "up")
    return {word for word in words if word.startswith(prefixes)}


def test_every_rule_says_what_to_do_first():
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "runbook"}, rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert [rule["alert"] for rule in rules()] == list(CASES)


def test_every_alert_has_its_line_for_operators():
    text = DOCUMENT.read_text()
    assert [r["alert"] for r in rules() if f"`{r['alert']}`" not in text] == []


def test_each_rule_fires_and_stays_silent_when_it_should(tmp_path: Path):
    promtool = program("promtool")
    subprocess.run([promtool, "check", "rules", str(RULES)], check=True)
    tests = [_scenario(fires=fires) for fires in (True, False)]
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}
    path = tmp_path / "tests.yml"
    path.write_text(yaml.safe_dump(document))
    done = ran(promtool, "test", "rules", path)
    assert done.returncode == 0, done.stdout + done.stderr


def _scenario(*, fires: bool) -> dict[str, Any]:
    """Return one run of all rules at once: none asks for what another's case has."""
    series = {
        rule["alert"]: CASES[rule["alert"]][0 if fires else 1] for rule in rules()
    }
    given = [pair for case in series.values() for pair in case.items()]
    assert len(dict(given)) == len(given)
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in given],
        "alert_rule_test": [
            {
                "eval_time": "65m" if "Tokens" in rule["alert"] else "59m",
                "alertname": rule["alert"],
                "exp_alerts": [_expected(rule)] if fires else [],
            }
            for rule in rules()
        ],
    }


EXTRA = {
    "MeshRelayDown": {"listener": "ws", "result": "failed"},
    "MeshAccessTestFailing": {"enforced": "true"},
}


def _expected(rule: dict[str, Any]) -> dict[str, Any]:
    """Return how a rule that fires labels and explains its alert."""
    by = re.findall(r'(job|state)="(\w+)"', next(iter(CASES[rule["alert"]][0])))
    kept = {} if rule["expr"].startswith(("sum(", "histogram")) else dict(by)
    return {
        "exp_labels": {**rule["labels"], **kept, **EXTRA.get(rule["alert"], {})},
        "exp_annotations": rule["annotations"],
    }


@pytest.fixture
def live(folder: Path) -> Iterator[Server]:
    """A server whose listener of relays is down."""
    relays = "ws://127.0.0.1:1"
    with Server(folder, content="owner", SVC_RELAY_LISTENERS=relays) as server:
        yield server


def traffic(server: Server) -> None:
    """Read and write, so that every family has series."""
    for path in ("/api/groups", "/nowhere", "/health"):
        server.call("GET", path)
    server.ask("POST", "/api/groups", {"name": new_id()})


@pytest.mark.sqlite
def test_every_expression_asks_for_metrics_that_a_live_server_has(server: Server):
    traffic(server)
    scrape = server.scrape()
    for place, expression in expressions():
        for name in metric_names(expression) - {"up"}:
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            assert f"# TYPE {name} " in scrape or f"# TYPE {family} histogram" in (
                scrape
            ), (place, name)


@pytest.mark.sqlite
@pytest.mark.slow
def test_a_real_prometheus_scrapes_and_answers_every_panel(
    live: Server, tmp_path: Path
):
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["rule_files"] = [str(RULES)]
    target = f"127.0.0.1:{live.metrics_port}"
    config["scrape_configs"][0]["static_configs"][0]["targets"] = [target]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [
        program("prometheus"),
        f"--config.file={tmp_path}/prometheus.yml",
        f"--storage.tsdb.path={tmp_path}/data",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with running(command, port, tmp_path):

        def ask(path: str, **query: str) -> Any:
            reply = request(port, f"/api/v1/{path}?{urllib.parse.urlencode(query)}")
            return reply.json["data"]

        def scraped() -> bool:
            traffic(live)
            try:
                found = ask("query", query='count_over_time(up{job="mesh"}[1m])')
            except (OSError, ValueError):
                return False
            return bool(found["result"]) and float(found["result"][0]["value"][1]) > 4

        until(scraped, "five scrapes")
        [target_state] = ask("targets")["activeTargets"]
        assert target_state["health"] == "up"
        assert target_state["lastError"] == ""
        total = ask("query", query="management_http_request_counter_total")["result"]
        assert float(total[0]["value"][1]) > 10
        empty = [
            (place, expression)
            for place, expression in expressions()[len(CASES) :]
            if not ask("query", query=expression.replace("$__rate_interval", "1m"))[
                "result"
            ]
        ]
        # No job has run and no map was computed in the first seconds of a server.
        assert {place for place, _ in empty} <= {"Housekeeping jobs"}, empty
        text = (tmp_path / "output").read_text()
    assert not re.search(r"level=(warn|error)", text), text


def commands() -> list[str]:
    """Return the commands of the chapter for operators, in order."""
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
def test_every_command_for_operators_runs_as_written(folder: Path):
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
