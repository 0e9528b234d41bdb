"""The commands of the documentation run as written, page by page, on the demo data.

What is marked as `sh` in a page is run in order in one shell; what is not says why here.
"""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.servers import Server, running_server

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

OTHER_TESTS: Final = {
    "dns": "dns/test_documentation.py",
    "operations": "observability/test_monitoring_pack.py",
}
"""Pages whose commands another test runs."""
LEFT_OUT: Final = {
    "audit-proof": {
        "--accept-restore": "for a trail older than its heads: proof/test_published.py",
        "cd /srv/audit-heads": "a line for cron, in a folder of the reader",
        "-o $head": "a line for cron, in a folder of the reader",
        "first=343": "of a trail of its own: proof/test_proof_api.py",
        "consistency old.json": "of a trail of its own: proof/test_proof_api.py",
        "audit/200": "of a trail of its own: proof/test_proof_api.py",
        "event=200": "of a trail of its own: proof/test_proof_api.py",
        "inclusion event.json": "of a trail of its own: proof/test_proof_api.py",
    },
    "authentication": {
        "/api/setup": "for a service without an owner",
        "you@company.net": "makes the first owner, whom the demo has",
    },
    "backup": {
        "manage.py restore /": "into an empty database: backup/test_restoring.py"
    },
    "changes": {"https://mesh.example": "asks another instance"},
    "dashboard": {
        "nginx": "for a host of its own: e2e/test_dashboard.py",
        "https://dashboard": "for a host of its own: e2e/test_dashboard.py",
    },
    "delivery": {"https://mesh.example": "delivers to another host"},
    "deployment": {
        "apt install": "serving/test_debian.py installs it",
        "sudo meshmgmt": "serving/test_debian.py runs it",
        "/opt/meshmgmt": "serving/test_wheel.py does the same elsewhere",
    },
    "enrolment": {
        "netbird up": "needs an agent: control/test_real_agent.py",
        "revoke ID": "the id is the reader's",
    },
    "events": {
        "/var/log": "reads logs of a web server: e2e/test_log_shipping.py",
        "zcat": "reads logs of a web server: e2e/test_log_shipping.py",
    },
    "groups": {"import_peers": "reads the file below: inventory/test_import_peers.py"},
    "moving-in": {
        "you@company": "makes the first owner, whom the demo has",
        "wg show": "needs WireGuard",
        "import_reference": "needs another service: movingin",
    },
    "peers": {
        "$PEER": "needs a connected agent",
        "netmap PEER": "the name is the reader's",
        "debug for": "takes five minutes",
        "simulate_peers": "ends by Ctrl-C: e2e/test_readme.py",
    },
    "performance": {"bench": "takes minutes, and asks for an idle machine"},
    "scaling": {"serve_peers": "serves until it is stopped"},
}
"""By page: what a command has in it, and why it is not run."""


PLAIN: Final = {
    "README": {
        "make run": "demo/test_welcome.py, and whoever starts here",
        "make test": "what runs this",
        "netbird up": "needs an agent: control/test_real_agent.py",
    },
    "operations": {
        "install -m": "observability/test_log_outputs.py takes the file as it is",
        "logrotate --debug": "observability/test_log_outputs.py runs logrotate",
        "pip install": "needs a network",
        "SVC_OTEL_ENDPOINT": "observability/test_tracing.py serves so",
    },
    "releasing": {
        "make dist": "serving/test_wheel.py",
        "make deb": "serving/test_debian.py",
    },
    "scaling": {"distribute_streams": "needs Citus: events/test_citus.py"},
}
"""By page: commands in blocks that are not marked as `sh`, and what runs them."""
COMMAND: Final = re.compile(
    r" *(sudo |[A-Z_]+=\S+ )*"
    r"((\./)?manage\.py|\.venv/\S+|make|meshmgmt|curl|install|logrotate|netbird) \S.*"
)


def commands(page: str) -> list[str]:
    """Return the commands of a page, each with all its lines."""
    text = (BASE_DIR / "docs" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    found: list[str] = []
    goes_on = False
    for line in "".join(blocks).splitlines():
        found += [line] if not goes_on else [f"{found.pop()}\n{line}"]
        goes_on = found[-1].endswith("\\") or found[-1].count("'") % 2 == 1
    return found


PAGES: Final = sorted(
    page.stem for page in BASE_DIR.glob("docs/*.md") if commands(page.stem)
)


VARIABLES: Final = commands("changes")[:4]
"""What that page begins with, and others refer to."""


def runnable(page: str) -> list[str]:
    """Return the commands of a page that are not left out.

    Those of configurations say by status 1 that something differs: no failure.
    """
    left_out = LEFT_OUT.get(page, {})
    told = re.compile(r"(.* config .*)#.*status 1.*")
    return [
        told.sub(r"\1 || [ $? = 1 ]", line)
        for line in commands(page)
        if not any(x in line for x in left_out)
    ]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("demo") / "data"
    with running_server(folder, content="demo") as started:
        started.manage("audit", "heads", "--publish")
        yield started


def test_what_is_left_out_is_there():
    for page, reasons in LEFT_OUT.items():
        for part, reason in reasons.items():
            assert part in "\n".join(commands(page)), page
            for path in re.findall(r"[\w/]+\.py", reason):
                assert (BASE_DIR / "tests" / path).exists(), path
    for page, path in OTHER_TESTS.items():
        assert f"docs/{page}.md" in (BASE_DIR / "tests" / path).read_text(), page


def test_every_command_that_is_not_marked_as_one_says_what_runs_it():
    found = set()
    for path in (BASE_DIR / "README.md", *BASE_DIR.glob("docs/*.md")):
        text = path.read_text(encoding="utf-8")
        blocks = re.findall(
            r"^ *```(\w*)\n(.*?)^ *```$", text, re.DOTALL | re.MULTILINE
        )
        for line in "".join(block for mark, block in blocks if not mark).splitlines():
            if COMMAND.fullmatch(line):
                known = [x for x in PLAIN.get(path.stem, ()) if x in line]
                found.add((path.stem, *(known or [line])))
    assert found == {(page, x) for page, reasons in PLAIN.items() for x in reasons}
    for reason in {x for reasons in PLAIN.values() for x in reasons.values()}:
        for name in re.findall(r"[\w/]+\.py", reason):
            assert (BASE_DIR / "tests" / name).exists(), name


@pytest.mark.parametrize(
    "page", [x for x in PAGES if x not in OTHER_TESTS and runnable(x)]
)
def test_the_commands_of_a_page_work(page: str, demo: Server, tmp_path: Path):
    (tmp_path / "var").symlink_to(demo.folder)
    script = "\n".join([*VARIABLES, *runnable(page)])
    for written, here in {
        "http://127.0.0.1:8000": demo.url,
        "http://localhost:8000": demo.url,
        "TOKEN=...": f"TOKEN={demo.token}",
        "/mnt/other/": f"{tmp_path}/",
        "/backup/": f"{tmp_path}/",
    }.items():
        script = script.replace(written, here)
    programs = [str(BASE_DIR), str(Path(sys.executable).parent), os.environ["PATH"]]
    variables = {"TOKEN": demo.token, "URL": demo.url, "API": f"{demo.url}/api"}
    environ = {**demo.environ, **variables, "PATH": ":".join(programs)}
    done = ran("bash", "-euxo", "pipefail", "-c", script, cwd=tmp_path, env=environ)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert not re.search(r'^\{"message":', done.stdout, re.MULTILINE), done.stdout
