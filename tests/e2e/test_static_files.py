"""Static files as a browser gets them from the real server."""

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import pytest

from meshmgmt.serving.staticfiles import collect
from tests.servers import Server

# Files of pages come from no database.
pytestmark = pytest.mark.sqlite

LINK = re.compile(r'(?:href|src)="(/static/[^"]+)"')


@pytest.fixture
def page(server: Server) -> str:
    """The sign-in page, which asks for no data."""
    with get(server, "/admin/login/") as answer:
        return str(answer.read().decode())


def get(server: Server, path: str) -> Any:
    asked = Request(f"{server.url}{path}", headers={"Accept-Encoding": "gzip"})  # noqa: S310
    return urlopen(asked)  # noqa: S310 - our own server


def test_pages_name_files_by_their_content_and_browsers_keep_them(
    server: Server, page: str
):
    paths = LINK.findall(page)
    assert len(paths) > 4
    for path in paths:
        assert re.search(r"\.[0-9a-f]{12}\.(css|js|svg)$", path), path
        with get(server, path) as answer:
            assert "immutable" in answer.headers["Cache-Control"]
            assert int(re.findall(r"max-age=(\d+)", answer.headers["Cache-Control"])[0])
            assert "Access-Control-Allow-Origin" not in answer.headers


def test_files_are_compressed(server: Server, page: str):
    [path] = [path for path in LINK.findall(page) if "/admin/css/base." in path]
    with get(server, path) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        assert answer.headers["Vary"] == "Accept-Encoding"
        sent = answer.read()
    plain = gzip.decompress(sent).decode()
    assert len(sent) < len(plain) / 3
    inside = re.findall(r'url\("?([^")]+)"?\)', plain)
    assert inside
    with get(server, urljoin(path, inside[0])) as answer:
        assert "immutable" in answer.headers["Cache-Control"]


def test_plain_names_work_but_are_asked_for_again(server: Server):
    with get(server, "/static/adminsite/admin.css") as answer:
        assert "immutable" not in answer.headers["Cache-Control"]


class TestCollecting:
    @pytest.fixture
    def root(self, settings: Any, tmp_path: Path) -> Path:
        """The folder into which a style and what it names were collected."""
        root, installed = tmp_path / "static", tmp_path / "installed"
        installed.mkdir()
        (installed / "page.css").write_text("body { background: url(dot.svg) }")
        (installed / "dot.svg").write_text("<svg/>")
        settings.STATIC_ROOT = str(root)
        settings.STATICFILES_DIRS = [str(installed)]
        finder = "django.contrib.staticfiles.finders.FileSystemFinder"
        settings.STATICFILES_FINDERS = [finder]
        collect()
        return root

    def test_happens_once_and_again_when_files_were_lost(self, root: Path):
        manifest = root / "staticfiles.json"
        first = manifest.stat().st_mtime_ns
        collect()
        assert manifest.stat().st_mtime_ns == first
        (root / ".collected").write_text("of another version")
        collect()
        assert manifest.stat().st_mtime_ns > first

    def test_files_of_the_last_version_stay_and_older_ones_go(self, root: Path):
        manifest, stamp = root / "staticfiles.json", root / ".collected"
        hashed = "old.0123456789ab.css"
        for name in (hashed, f"{hashed}.gz"):
            (root / name).write_text("")
        named = json.loads(manifest.read_text())
        named["paths"]["old.css"] = hashed
        manifest.write_text(json.dumps(named))
        for left in ({hashed, f"{hashed}.gz"}, set()):
            stamp.write_text("of another version")
            collect()
            assert {path.name for path in root.glob("old.*")} == left
            missing = {
                name
                for name in json.loads(manifest.read_text())["paths"].values()
                if not (root / name).exists()
            }
            assert not missing

    def test_a_folder_that_cannot_be_written_stops_no_start(
        self, root: Path, caplog: pytest.LogCaptureFixture
    ):
        shutil.rmtree(root)
        root.write_text("a file where the folder should be")
        collect()
        assert "static files keep plain names" in caplog.text

    def test_a_manifest_that_was_cut_off_is_made_anew(self, root: Path):
        manifest = root / "staticfiles.json"
        whole = json.loads(manifest.read_text())["paths"]
        manifest.write_text("")
        collect()
        assert json.loads(manifest.read_text())["paths"] == whole
