"""Documents that promise something name tests that exist."""

import ast
import re
from functools import cache

import pytest

from meshmgmt.env import BASE_DIR

NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


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
