"""The Debian package, installed, upgraded and removed on a copy of this machine.

Once with a systemd of its own, which does what the package asks of it.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

import meshmgmt
from tests.programs import program, running
from tests.runfolder import once
from tests.servers import free_port
from tests.serving.chroots import Copy, booted, copied
from tests.serving.conftest import build
from tests.waiting import until
from tests.wire import request

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

PYTHON = f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"
UNITS = "/usr/lib/systemd/system"
SERVICES: Final = ("web", "housekeeping", "peers")
API: Final = "http://127.0.0.1:8000"
ASKING: Final = """
until test -e /root/enough; do
  curl --silent --output /dev/null --write-out '%{http_code}\\n' --header "$1" "$2"
done
"""


@pytest.fixture(scope="module")
def packages(built: tuple[Path, Path]) -> tuple[Path, Path]:
    """What `make deb` makes of what is here, twice."""
    program("dpkg-deb")
    if not Path(PYTHON).exists():
        pytest.skip(f"{PYTHON} is not installed")

    def package(folder: Path) -> None:
        shutil.copytree(built[0].parent, folder, dirs_exist_ok=True, symlinks=True)
        build(folder, "deb")

    folder = once("deb", package)
    [one], [two] = folder.glob("one/*.deb"), folder.glob("two/*.deb")
    return one, two


@pytest.fixture
def machine(packages: tuple[Path, Path], tmp_path: Path) -> Iterator[Copy]:
    """A machine on which the package is installed."""
    with copied(tmp_path) as copy:
        copy.run("dpkg", "--install", copy.put(packages[0]))
        yield copy


def exists(machine: Copy, path: str) -> bool:
    there = machine.run("sh", "-c", f"test -e {path} && echo yes || echo no")
    return there.strip() == "yes"


def newer(package: Path, folder: Path) -> Path:
    """Return the package as its next version, which says so and has another default."""
    subprocess.run(["dpkg-deb", "-R", str(package), str(folder / "next")], check=True)
    control = folder / "next" / "DEBIAN" / "control"
    control.write_text(re.sub(r"(Version: .*)", r"\1+next", control.read_text()))
    settings = folder / "next" / "etc" / "meshmgmt" / "env"
    settings.write_text(settings.read_text() + "# something new\n")
    command = ["dpkg-deb", "--root-owner-group", "-Znone", "-b"]
    subprocess.run([*command, str(folder / "next"), str(folder)], check=True)
    [made] = folder.glob("*.deb")
    return made


def test_two_packages_of_a_commit_are_the_same_bytes(
    packages: tuple[Path, Path],
):
    one, two = packages
    assert one.name == two.name
    assert one.name.startswith(f"meshmgmt_{meshmgmt.__version__}_")
    assert one.read_bytes() == two.read_bytes()
    sums = (one.parent / "SHA256SUMS").read_text()
    assert f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" in sums


def test_the_installed_package_serves_as_its_units_say(
    machine: Copy, tmp_path_factory: pytest.TempPathFactory
):
    assert machine.run("dpkg", "--verify", "meshmgmt") == ""
    modes = ("stat", "--format=%U %a", "/var/lib/meshmgmt", "/etc/meshmgmt/env")
    assert machine.run(*modes).split("\n")[:2] == ["meshmgmt 700", "root 640"]
    program("systemd-analyze")
    units = ("meshmgmt.target", "meshmgmt-web.socket")
    services = [f"meshmgmt-{name}.service" for name in SERVICES]
    names = [f"{UNITS}/{name}" for name in (*units, *services)]
    said = machine.run("systemd-analyze", "verify", "--man=no", *names)
    assert "meshmgmt" not in said
    assert exists(
        machine, "/etc/systemd/system/multi-user.target.wants/meshmgmt.target"
    )
    if shutil.which("logrotate", path="/usr/sbin"):
        assert "error" not in machine.run(
            "logrotate", "-d", "/etc/logrotate.d/meshmgmt"
        )

    port = free_port()
    settings = f"SVC_BIND=127.0.0.1:{port}\nSVC_DRAIN_SECONDS=0\nSVC_METRICS_PORT=off\n"
    machine.run("sh", "-c", "cat >> /etc/meshmgmt/env", given=settings)
    text = machine.run("cat", f"{UNITS}/meshmgmt-web.service")
    [before] = re.findall(r"^ExecStartPre=(.*)$", text, re.MULTILINE)
    [command] = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    as_service = ["runuser", "-u", "meshmgmt", "--"]
    environ = [*(line for line in settings.split()), "SVC_DATA_DIR=/var/lib/meshmgmt"]
    environ += ["SVC_RUNTIME_DIR=/run/meshmgmt"]
    machine.run(*as_service, "env", *environ, *before.split())
    said = machine.run("meshmgmt", "create_token", "--user", "ada@mesh.dev")
    token = said.split()[-1]
    served = [*machine.within, *environ, *as_service, *command.split()]
    with running(served, port, tmp_path_factory.mktemp("served")):
        for path, text in {
            "/api/users": "ada@mesh.dev",
            "/static/adminsite/admin.css": "{",
        }.items():
            answer = request(port, path, Authorization=f"Token {token}")
            assert text in answer.text, path
    bytecode = machine.run("find", "/opt/meshmgmt", "-newer", "/etc/meshmgmt/env")
    assert bytecode == ""


def test_an_upgrade_and_a_removal_keep_settings_and_data(
    machine: Copy, packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
):
    machine.run("meshmgmt", "migrate", "--verbosity", "0")
    machine.run("sh", "-c", "echo SVC_LOG_FORMAT=text >> /etc/meshmgmt/env")
    settings = machine.run("cat", "/etc/meshmgmt/env")
    again = newer(packages[0], tmp_path_factory.mktemp("next"))
    for package in (packages[0], again):
        machine.run("dpkg", "--force-confold", "--install", machine.put(package))
        assert machine.run("cat", "/etc/meshmgmt/env") == settings
        assert exists(machine, "/var/lib/meshmgmt/db.sqlite3")
    assert "+next" in machine.run("dpkg-query", "-Wf", "${Version}", "meshmgmt")
    machine.run("meshmgmt", "migrate", "--check")

    machine.run("dpkg", "--remove", "meshmgmt")
    assert machine.run("cat", "/etc/meshmgmt/env") == settings
    assert not exists(machine, "/opt/meshmgmt")
    machine.run("touch", "/etc/meshmgmt/key")
    said = machine.run("dpkg", "--purge", "meshmgmt")
    assert "/var/lib/meshmgmt" in said
    assert "kept" in said
    assert exists(machine, "/var/lib/meshmgmt/db.sqlite3")
    assert machine.run("ls", "/etc/meshmgmt").split() == ["key"]
    assert not exists(
        machine, "/etc/systemd/system/multi-user.target.wants/meshmgmt.target"
    )


def test_a_purge_deletes_the_data_when_told_so(machine: Copy):
    machine.run("meshmgmt", "migrate", "--verbosity", "0")
    answer = "meshmgmt meshmgmt/purge-data boolean true\n"
    machine.run("debconf-set-selections", given=answer)
    machine.run("touch", "/etc/meshmgmt/database")
    machine.run("dpkg", "--purge", "meshmgmt")
    assert not exists(machine, "/var/lib/meshmgmt")
    assert not exists(machine, "/etc/meshmgmt")
    machine.run("id", "meshmgmt", status=1)


def test_the_command_asks_for_root(machine: Copy):
    said = machine.run("runuser", "-u", "nobody", "--", "meshmgmt", "help", status=1)
    assert "sudo meshmgmt help" in said


def call(machine: Copy, path: str, token: str, *words: str) -> Any:
    """Ask the service from within; return the document of its answer, None for none."""
    header = f"Authorization: Token {token}"
    command = ["curl", "--silent", "--fail", "--header", header, *words, f"{API}{path}"]
    done = machine.tried(*command)
    return json.loads(done.stdout) if done.returncode == 0 else None


@contextmanager
def asked_on_and_on(machine: Copy, path: str, token: str) -> Iterator[None]:
    """Send requests without a pause in a block; each must be answered well."""
    words = ["sh", "-c", ASKING, "sh", f"Authorization: Token {token}", f"{API}{path}"]
    command = [*machine.within, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        yield
        machine.run("touch", "/root/enough")
        assert client.stdout is not None
        assert {*client.stdout.read().split()} == {"200"}


def states(machine: Copy) -> set[str]:
    """Return whether the services are active, which systemd says in one word each."""
    names = [f"meshmgmt-{name}.service" for name in SERVICES]
    return {*machine.tried("systemctl", "is-active", *names).stdout.split()}


def processes(machine: Copy) -> list[str]:
    names = [f"meshmgmt-{name}.service" for name in SERVICES]
    shown = machine.run("systemctl", "show", "--property=MainPID", "--value", *names)
    return shown.split()


def test_systemd_starts_restarts_and_stops_what_the_package_brings(
    packages: tuple[Path, Path],
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
):
    program("curl")
    program("systemctl")
    again = newer(packages[0], tmp_path_factory.mktemp("next"))
    with booted(tmp_path) as machine:
        machine.run("dpkg", "--install", machine.put(packages[0]))
        until(lambda: call(machine, "/readyz", ""), "an answer")
        assert states(machine) == {"active"}
        said = machine.run("meshmgmt", "create_token", "--user", "ada@mesh.dev")
        token = said.split()[-1]
        made = call(machine, "/api/groups", token, "--data", '{"name": "kept"}')

        first = processes(machine)
        with asked_on_and_on(machine, "/api/groups", token):
            machine.run("dpkg", "--install", machine.put(again))
            until(lambda: states(machine) == {"active"}, "the restarted services")
            until(lambda: call(machine, "/readyz", ""), "an answer of the next version")
        assert not {*first} & {*processes(machine)}
        assert "+next" in machine.run("dpkg-query", "-Wf", "${Version}", "meshmgmt")
        assert made in call(machine, "/api/groups", token)

        machine.run("systemctl", "stop", "meshmgmt.target")
        assert states(machine) == {"inactive"}
        machine.run("systemctl", "start", "meshmgmt.target")
        until(lambda: call(machine, "/readyz", ""), "an answer after the stop")
        machine.run("dpkg", "--remove", "meshmgmt")
        assert states(machine) == {"inactive"}
        assert call(machine, "/readyz", "") is None
        assert exists(machine, "/var/lib/meshmgmt/db.sqlite3")
        machine.run("dpkg", "--install", machine.put(again))
        until(lambda: call(machine, "/readyz", ""), "an answer after the removal")
        assert states(machine) == {"active"}
        assert made in call(machine, "/api/groups", token)

        machine.run("dpkg", "--purge", "meshmgmt")
        assert exists(machine, "/var/lib/meshmgmt/db.sqlite3")
        assert "meshmgmt" not in machine.run(
            "systemctl", "list-unit-files", "--no-pager"
        )


def test_an_installation_whose_port_is_taken_says_so(
    packages: tuple[Path, Path], tmp_path: Path
):
    program("systemctl")
    with booted(tmp_path) as machine:
        other = ("/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1", "8000")
        machine.run("systemd-run", "--unit=other", *other)
        until(
            lambda: machine.tried("curl", "--silent", API).stdout, "the other program"
        )
        said = machine.run("dpkg", "--install", machine.put(packages[0]))
        assert "the API is not served. See systemctl status meshmgmt-web.socket" in said
        machine.run("systemctl", "stop", "other")
        machine.run("systemctl", "restart", "meshmgmt.target")
        until(lambda: call(machine, "/readyz", ""), "an answer")
        answer = "meshmgmt meshmgmt/purge-data boolean true\n"
        machine.run("debconf-set-selections", given=answer)
        machine.run("dpkg", "--purge", "meshmgmt")
        assert not exists(machine, "/run/meshmgmt")
