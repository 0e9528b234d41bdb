"""A room grows by a decision: `scripts/lines` holds it to its number."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from meshmgmt.env import BASE_DIR
from tests.programs import ran

MODULE = '''"""A docstring
of two lines."""

# a comment
NAMES = """two
lines"""  # of a string


def work() -> None:
    """Another docstring."""
    print(NAMES)
'''


def lines(tree: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return ran(sys.executable, tree / "scripts" / "lines", *words)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository of two rooms whose numbers are written down."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(BASE_DIR / "scripts" / "lines", tmp_path / "scripts")
    for name in ("dns/names.py", "meshmgmt/api/views.py", "dns/migrations/0001.py"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(MODULE)
    assert lines(tmp_path, "--write").returncode == 0
    return tmp_path


def test_only_lines_of_code_count(tree: Path):
    table = (tree / "scripts" / "lines.toml").read_text()
    assert table.endswith('[rooms]\n"dns" = 4\n"meshmgmt/api" = 4\n')


def test_a_room_that_outgrows_its_number_is_refused_until_it_is_written(tree: Path):
    module = tree / "dns" / "names.py"
    module.write_text(MODULE + 20 * "work()\n")
    assert lines(tree).returncode == 0
    module.write_text(MODULE + 21 * "work()\n")
    refused = lines(tree)
    assert refused.returncode == 1
    assert "dns: 25 lines of code, 4 in lines.toml" in refused.stdout
    assert lines(tree, "--write").returncode == 0
    assert lines(tree).returncode == 0


def test_a_new_room_is_a_decision_too(tree: Path):
    (tree / "events").mkdir()
    (tree / "events" / "trail.py").write_text(25 * "work()\n")
    assert "events: 25 lines of code, 0" in lines(tree).stdout
