"""What rooms register, and that there is one way to do it."""

import ast
from collections.abc import Iterator

import pytest

from meshmgmt.core.registry import Registry
from tests.core.trees import is_empty, modules

KEPT = {
    "events.admin.homecards": "_kept",
    "meshmgmt.api.renderers": "_sizes",
    "meshmgmt.api.documentation": "_documents",
    "meshmgmt.delivery.worker": "_running",
    "meshmgmt.explain.findings": "_kept",
    "meshmgmt.explain.mapsize": "_warned",
    "meshmgmt.serving.hooks": "_claim",
    "observability.database.postgresql.base": "_silences",
}
"""What a process remembers while it runs: nobody registers there."""


def test_entries_keep_their_order_and_a_taken_key_is_refused():
    registry = Registry[str, int]()
    registry.add("b", 1)
    registry.add("a", 2)
    with pytest.raises(ValueError, match="b is registered already"):
        registry.add("b", 3)
    assert list(registry.items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("entries", [{}, {"a": 1, "b": 2}])
def test_what_one_room_alone_tells_is_asked_of_just_one(entries: dict[str, int]):
    with pytest.raises(ValueError, match="values to unpack"):
        _ = Registry(entries).only
    assert Registry({"a": 1}).only == 1


def test_no_room_has_a_registry_of_another_kind():
    found = {
        (module, name)
        for module, tree in modules().items()
        for name in empty_containers(tree)
    }
    assert found == set(KEPT.items())


def empty_containers(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module to which something empty, to be filled, is bound."""
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_empty(node.value):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            yield ast.unparse(target)
