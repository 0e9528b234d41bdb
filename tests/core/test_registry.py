"""What rooms register, and that there is one way to do it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from meshmgmt.core.registry import Registry
from meshmgmt.env import BASE_DIR

ROOMS = ("meshmgmt", "dns", "groups", "events", "observability")
KEPT = {
    "events/admin/homecards.py": "_kept",
    "meshmgmt/api/renderers.py": "_sizes",
    "meshmgmt/api/documentation.py": "_documents",
    "meshmgmt/delivery/worker.py": "_running",
    "meshmgmt/explain/findings.py": "_kept",
    "meshmgmt/explain/mapsize.py": "_warned",
    "meshmgmt/serving/hooks.py": "_claim",
    "observability/database/postgresql/base.py": "_silences",
}
"""What a process remembers while it runs: nobody registers there."""


def test_entries_keep_their_order_and_a_taken_key_is_refused() -> None:
    registry = Registry[str, int]()
    registry.add("b", 1)
    registry.add("a", 2)
    with pytest.raises(ValueError, match="b is registered already"):
        registry.add("b", 3)
    assert list(registry.items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("entries", [{}, {"a": 1, "b": 2}])
def test_what_one_room_alone_tells_is_asked_of_just_one(
    entries: dict[str, int],
) -> None:
    with pytest.raises(ValueError, match="values to unpack"):
        _ = Registry(entries).only
    assert Registry({"a": 1}).only == 1


def test_no_room_has_a_registry_of_another_kind() -> None:
    found = {
        (str(path.relative_to(BASE_DIR)), name)
        for room in ROOMS
        for path in (BASE_DIR / room).rglob("*.py")
        for name in empty_containers(path)
    }
    assert found == set(KEPT.items())


def empty_containers(path: Path) -> Iterator[str]:
    """Yield the names of a module to which something empty, to be filled, is bound."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_empty(node.value):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            yield ast.unparse(target)


def is_empty(value: ast.expr | None) -> bool:
    """Tell whether something is made without anything in it."""
    match value:
        case ast.List(elts=[]) | ast.Dict(keys=[]):
            return True
        case ast.Call(func=ast.Name(id="list" | "dict" | "set"), args=[], keywords=[]):
            return True
        case ast.Call(func=ast.Name(id="defaultdict" | "OrderedDict")):
            return True
    return False
