"""What `pip install` puts into an empty environment is the whole service."""

import hashlib
import json
import re
import site
import subprocess
import sys
import tomllib
import urllib.request
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

import meshmgmt
from meshmgmt.env import BASE_DIR
from tests.programs import ran, running
from tests.runfolder import clean_environ
from tests.servers import free_port
from tests.serving.conftest import FOLDERS
from tests.wire import request

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


@dataclass(frozen=True)
class Installed:
    """A wheel, the environment it is installed in, and a folder that is elsewhere."""

    wheel: Path
    programs: Path
    folder: Path
    environ: dict[str, str]

    def run(self, *words: str, **environ: str) -> str:
        """Run a program of the environment; return what it printed."""
        program, *rest = words
        given = {**self.environ, **environ}
        done = ran(self.programs / program, *rest, cwd=self.folder, env=given)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(
    built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Installed:
    """Install the wheel beside the locked packages, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    offline = ("--no-index", "--no-deps")
    [wheel] = built[0].glob("*.whl")
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    put = ("--python", str(python), "install", *offline, str(wheel))
    subprocess.run([*PIP, *put], check=True)
    [packages] = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "locked.pth").write_text("\n".join(site.getsitepackages()))
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    environ = {**clean_environ(), "XDG_DATA_HOME": str(folder / "data")}
    return Installed(wheel, python.parent, elsewhere, environ)


def test_two_builds_of_a_commit_give_the_same_bytes(built: tuple[Path, Path]):
    one, two = ({f.name: f.read_bytes() for f in folder.iterdir()} for folder in built)
    assert one == two
    version = meshmgmt.__version__
    wheel, sdist = f"meshmgmt-{version}-py3-none-any.whl", f"meshmgmt-{version}.tar.gz"
    bill = f"meshmgmt-{version}.cdx.json"
    assert one.keys() == {wheel, sdist, bill, "SHA256SUMS"}
    for line in one["SHA256SUMS"].decode().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256(one[name]).hexdigest() == digest


def test_the_bill_of_materials_lists_the_locked_packages(
    built: tuple[Path, Path],
):
    [bill] = built[0].glob("*.cdx.json")
    said = json.loads(bill.read_text())
    assert said["bomFormat"] == "CycloneDX"
    release = said["metadata"]["component"]
    assert (release["name"], release["version"]) == ("meshmgmt", meshmgmt.__version__)
    lock_file = (BASE_DIR / "requirements" / "base.txt").read_text()
    pins = re.findall(r"^([\w.-]+)(?:\[.+\])?(==[^ ]+) \\$", lock_file, re.MULTILINE)
    locked = {name + version for name, version in pins}
    packages = {
        f"{canonicalize_name(part['name'])}=={part['version']}": part["purl"]
        for part in said["components"]
    }
    # What other platforms alone need has a marker in the lock file, and is not here.
    assert packages.keys() >= locked
    for name, address in packages.items():
        assert address.startswith("pkg:pypi/")
        assert name.split("==")[1] in address
    [needed] = [
        link["dependsOn"]
        for link in said["dependencies"]
        if link["ref"] == release["bom-ref"]
    ]
    assert "Django" in {name.split("==")[0] for name in needed}
    assert "pytest" not in bill.read_text()


def test_the_sdist_gives_the_same_wheel(built: tuple[Path, Path], tmp_path: Path):
    [sdist] = built[0].glob("*.tar.gz")
    [wheel] = built[0].glob("*.whl")
    offline = ("wheel", "--no-index", "--no-deps", "--no-build-isolation")
    subprocess.run([*PIP, *offline, "-w", str(tmp_path), str(sdist)], check=True)
    [rebuilt] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(rebuilt) as new:
        assert set(old.namelist()) == set(new.namelist())


def test_the_wheel_holds_code_and_pages_and_no_tests(installed: Installed):
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    version = meshmgmt.__version__
    assert tops == {*FOLDERS, f"meshmgmt-{version}.dist-info"} - {"templates"}
    parts = {part for name in names for part in name.split("/")}
    assert not [x for x in parts if x in {"tests", "golden"} or x.startswith("test_")]
    for part in FOLDERS:
        inside = "meshmgmt/templates" if part == "templates" else part
        ours = {
            f"{inside}/{path.relative_to(BASE_DIR / part)}"
            for pattern in ("*.py", "*.html", "*.css", "*.js")
            for path in (BASE_DIR / part).rglob(pattern)
        }
        assert ours <= {*names}


def test_the_version_stands_in_one_place(installed: Installed):
    said = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]
    assert "version" in said["dynamic"]
    code = "import importlib.metadata as m; print(m.version('meshmgmt'))"
    assert installed.run("python", "-c", code).strip() == meshmgmt.__version__
    assert f"version: {meshmgmt.__version__}" in (BASE_DIR / "openapi.yaml").read_text()


def test_the_installed_command_is_manage_py(installed: Installed):
    installed.run("meshmgmt", "migrate", "--verbosity", "0")
    data = Path(installed.environ["XDG_DATA_HOME"]) / "meshmgmt"
    assert (data / "db.sqlite3").is_file()
    assert list(installed.folder.iterdir()) == []
    installed.run("meshmgmt", "check")
    here = {line.strip() for line in installed.run("meshmgmt", "help").splitlines()}
    assert {"serve", "housekeeping", "serve_peers", "create_token"} <= here


def test_the_installed_service_serves_its_pages(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(installed.folder)
    port = free_port()
    environ = {
        "SVC_DATA_DIR": str(installed.folder.parent / "serving"),
        "SVC_BIND": f"127.0.0.1:{port}",
        "SVC_METRICS_PORT": "off",
        "SVC_GRPC_BIND": f"127.0.0.1:{free_port()}",
        "SVC_DRAIN_SECONDS": "0",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    installed.run("meshmgmt", "migrate", "--verbosity", "0", **environ)
    command = [str(installed.programs / "meshmgmt"), "serve"]
    with running(command, port, installed.folder.parent):
        for path, text in {
            "/livez": "alive",
            "/admin/login/": "/static/adminsite/admin.",
            "/static/adminsite/admin.css": "{",
            "/favicon.ico": "<svg",
            "/api/schema": "openapi",
        }.items():
            # Some lead on to where it is.
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                assert text in answer.read().decode(), path


def test_run_in_an_empty_folder_serves_and_says_how_to_get_in(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    port = free_port()
    monkeypatch.setenv("SVC_METRICS_PORT", "off")
    monkeypatch.setenv("SVC_GRPC_BIND", "off")
    monkeypatch.setenv("SVC_DRAIN_SECONDS", "0")
    monkeypatch.chdir(installed.folder)
    program = str(installed.programs / "meshmgmt")
    command = [program, "run", "--bind", f"127.0.0.1:{port}"]
    with running(command, port, tmp_path):
        printed = (tmp_path / "output").read_text()
        [link] = re.findall(f"is made at http://127.0.0.1:{port}(/setup.*)", printed)
        code = link.partition("=")[2]
        assert code in request(port, link).body.decode()
    assert f"http://127.0.0.1:{port}/admin/" in printed
    assert [file.name for file in (tmp_path / "meshmgmt").glob("token")] == []
    assert list(installed.folder.iterdir()) == []
