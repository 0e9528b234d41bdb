"""The documentation: links lead somewhere, tests that it names exist, its site is whole."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from meshmgmt.env import BASE_DIR
from tests.e2e.browsers import chromium, needs_a_browser
from tests.openapi import schema
from tests.runfolder import clean_environ

PYTHON = BASE_DIR / ".venv-docs" / "bin" / "python"
PAGES = [*BASE_DIR.glob("*.md"), *BASE_DIR.glob("docs/**/*.md")]
CODE = re.compile(r"^ *(```+).*?^ *\1$|`[^`\n]+`", re.DOTALL | re.MULTILINE)
is_slow, needs_chromium, needs_libatomic = needs_a_browser
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")
LINK = re.compile(r"""(?:\]\(|src(?:set)?=")([^)"\s]+)[)"]""")


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as forges and the site make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_stands_in_a_chapter_of_the_site():
    script = (BASE_DIR / "scripts" / "docs").read_text(encoding="utf-8")
    chapters = script.partition("CHAPTERS: Final = {")[2].partition("}")[0]
    named = set(re.findall(r"[\w-]+", chapters))
    pages = {page.stem for page in BASE_DIR.glob("docs/*.md")}
    assert pages - named <= {"index", "api"}


@cache
def defined_in(path: str) -> set[str]:
    """Return the names of all tests of a module, those in classes too."""
    tree = ast.parse((BASE_DIR / "tests" / path).read_text(encoding="utf-8"))
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def promises(name: str) -> list[str]:
    """Return the rows of the tables whose last column names tests."""
    text = (BASE_DIR / "docs" / name).read_text(encoding="utf-8")
    table = r"^\|[^\n]*\| (?:Tests|Broken by) \|\n\|[-|]+\n((?:\|.*\n)+)"
    tables = re.findall(table, text, re.MULTILINE)
    return [row for table in tables for row in table.splitlines()]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("security.md", 20),
        ("reliability.md", 20),
        ("audit-proof.md", 14),
        ("compatibility.md", 50),
    ],
)
def test_each_promise_names_tests_that_exist(name: str, least: int):
    rows = promises(name)
    assert len(rows) > least
    assert [row for row in rows if not NAMED.search(row)] == []
    named = {match for row in rows for match in NAMED.findall(row)}
    assert [one for one in named if one[1] not in defined_in(one[0])] == []
    # Whatever looks like a test is spelt so that this finds it.
    text = (BASE_DIR / "docs" / name).read_text(encoding="utf-8")
    assert {*re.findall(r"\btest_\w+(?!\w*\.py)", text)} <= {
        word for pair in named for word in (pair[1], pair[0].split("/")[-1][:-3])
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `make docs` makes; a warning of Sphinx is a failure."""
    if not PYTHON.exists():
        pytest.skip("`make test-slow` installs what makes the site")
    made = tmp_path_factory.mktemp("site")
    command = [PYTHON, BASE_DIR / "scripts" / "docs", made]
    subprocess.run(command, check=True, env=clean_environ())
    return made


@pytest.mark.slow
def test_the_site_has_every_operation_of_the_api(site: Path):
    document = schema()
    pages = "".join(page.read_text() for page in site.glob("api-*.html"))
    headings = re.findall(r"<h2>(.*?)<a", pages)
    titles = {re.sub(r"<[^>]+>", "", heading) for heading in headings}
    for path, methods in document["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}" in titles
    assert document["components"]["schemas"].keys() <= titles


@is_slow
@pytest.mark.browser
@needs_chromium
@needs_libatomic
def test_the_site_asks_no_host_for_anything_and_can_be_searched(site: Path):
    asked: list[str] = []
    with chromium() as browser:
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{site.as_uri()}/index.html")
        page.fill("input[name=q]", "nameservers")
        page.keyboard.press("Enter")
        results = page.locator("#search-results")
        results.get_by_text("Search finished").wait_for()
        found = results.inner_text()
    assert "DNS" in found
    assert {url.partition(":")[0] for url in asked} == {"file"}
