"""What `pip install` puts into an empty environment is the whole service."""

import shutil
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

import meshmgmt
from meshmgmt.env import BASE_DIR
from tests.programs import running
from tests.runfolder import clean_environ
from tests.servers import free_port

pytestmark = [pytest.mark.slow, pytest.mark.sqlite]

PARTS = ("meshmgmt", "dns", "groups", "events", "observability", "templates")
FILES = ("pyproject.toml", "README.md", "LICENSE")
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
        done = subprocess.run(
            [str(self.programs / words[0]), *words[1:]],
            cwd=self.folder,
            env={**self.environ, **environ},
            check=False,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Build a wheel and install it beside the locked packages, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in (*PARTS, "requirements"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(BASE_DIR / name, source / name, symlinks=True, ignore=ignored)
    for name in FILES:
        shutil.copy(BASE_DIR / name, source / name)
    offline = ("--no-index", "--no-deps")
    built = ("wheel", *offline, "--no-build-isolation", "-w", str(folder), str(source))
    subprocess.run([*PIP, *built], check=True)
    [wheel] = folder.glob("*.whl")
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


def test_the_wheel_holds_code_and_pages_and_no_tests(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    version = meshmgmt.__version__
    assert tops == {*PARTS, f"meshmgmt-{version}.dist-info"} - {"templates"}
    assert not [name for name in names if "golden" in name or "test" in name]
    for part in PARTS:
        inside = "meshmgmt/templates" if part == "templates" else part
        ours = {
            f"{inside}/{path.relative_to(BASE_DIR / part)}"
            for pattern in ("*.py", "*.html", "*.css", "*.js")
            for path in (BASE_DIR / part).rglob(pattern)
        }
        assert ours <= {*names}


def test_the_version_stands_in_one_place(installed: Installed) -> None:
    said = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]
    assert "version" in said["dynamic"]
    code = "import importlib.metadata as m; print(m.version('meshmgmt'))"
    assert installed.run("python", "-c", code).strip() == meshmgmt.__version__
    assert f"version: {meshmgmt.__version__}" in (BASE_DIR / "openapi.yaml").read_text()


def test_the_installed_command_is_manage_py(installed: Installed) -> None:
    installed.run("meshmgmt", "migrate", "--verbosity", "0")
    data = Path(installed.environ["XDG_DATA_HOME"]) / "meshmgmt"
    assert (data / "db.sqlite3").is_file()
    assert list(installed.folder.iterdir()) == []
    installed.run("meshmgmt", "check")
    here = {line.strip() for line in installed.run("meshmgmt", "help").splitlines()}
    assert {"serve", "housekeeping", "serve_peers", "create_token"} <= here


def test_the_installed_service_serves_its_pages(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
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
            "/admin/login/": "/static/api/admin.",
            "/static/api/admin.css": "{",
            "/favicon.ico": "<svg",
            "/api/schema": "openapi",
        }.items():
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}") as answer:
                assert text in answer.read().decode(), path
