"""How rooms join each other: by `register()` of their `room.py`, and in no other way."""

import ast
from collections.abc import Iterator
from functools import cache

import pytest
from django.apps import AppConfig, apps

from meshmgmt.core.registry import Registry
from meshmgmt.env import BASE_DIR

TOPS = ("meshmgmt", "dns", "groups", "events", "observability")
NAMES = (ast.Name, ast.Attribute)
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


@cache
def modules() -> dict[str, ast.Module]:
    """Return every module of ours, parsed, by its dotted name."""
    return {
        ".".join(path.relative_to(BASE_DIR).with_suffix("").parts): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for top in TOPS
        for path in (BASE_DIR / top).rglob("*.py")
        if "migrations" not in path.parts
    }


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


ROOMS = [app for app in apps.get_app_configs() if f"{app.name}.room" in modules()]


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef))


def calls(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield what is called by its dotted name, and the function of the module it is in."""
    imported = {
        alias.asname or alias.name: f"{found.module}.{alias.name}"
        for found in ast.walk(tree)
        if isinstance(found, ast.ImportFrom)
        for alias in found.names
    }
    for node in tree.body:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, NAMES):
                first, dot, rest = ast.unparse(call.func).partition(".")
                yield (
                    f"{imported.get(first, first)}{dot}{rest}",
                    getattr(node, "name", ""),
                )


def adders() -> set[str]:
    """Return the dotted names of all functions that add to a registry, `add` included."""
    return {
        f"{name}.{adder}"
        for name, tree in modules().items()
        if (fillings := registries(tree))
        for adder in (
            *(text.removesuffix("(") for text in fillings),
            *(
                function.name
                for function in functions(tree)
                if any(text in ast.unparse(function) for text in fillings)
            ),
        )
    }


def registries(tree: ast.Module) -> list[str]:
    return [
        f"{ast.unparse(node.target)}.add("
        for node in tree.body
        if isinstance(node, ast.AnnAssign)
        and node.value is not None
        and ast.unparse(node.value).startswith("Registry[")
    ]


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.label)
def test_an_application_is_its_name_and_no_more(room: AppConfig):
    own = {name for name in vars(type(room)) if not name.startswith("__")}
    assert type(room) is AppConfig or own <= {"name", "verbose_name"}


def test_every_room_that_has_something_for_others_is_one():
    names = {name.rpartition(".")[0] for name in modules() if name.endswith(".room")}
    assert names == {room.name for room in ROOMS}
    assert len(names) > 10


def test_registries_are_filled_by_functions_called_register_alone():
    wanted = adders()
    assert "meshmgmt.core.jobs.register_job" in wanted
    assert "events.directory.peers.add" in wanted
    assert len(wanted) > 30
    outside = {
        (name, call)
        for name, tree in modules().items()
        for call, function in calls(tree)
        if call in wanted and "register" not in function
    }
    assert not outside


def test_what_begins_empty_is_the_memory_of_its_module_alone():
    """A list or dictionary that rooms fill would be a registry of another kind."""
    outside = set()
    for name, tree in modules().items():
        fillers = [f for f in functions(tree) if "register" in f.name]
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and is_empty(node.value):
                kept = ast.unparse(node.target)
                if not kept.startswith("_") or any(
                    kept in ast.unparse(filler) for filler in fillers
                ):
                    outside.add((name, kept))
    assert not outside


def test_no_decorator_connects_what_is_imported():
    outside = {
        (name, decorator)
        for name, tree in modules().items()
        for function in functions(tree)
        for decorator in map(ast.unparse, function.decorator_list)
        if decorator.startswith(("receiver(", "checks.register"))
    }
    assert not outside


def test_what_a_room_registers_is_called_by_its_room():
    named = {
        f"{name}.register"
        for name, tree in modules().items()
        for function in functions(tree)
        if ast.unparse(function).startswith("def register() -> None:")
    }
    rooms = {name for name in named if name.endswith(".room.register")}
    called = {
        call
        for name in rooms
        for call, function in calls(modules()[name.removesuffix(".register")])
        if function == "register"
    }
    assert len(named) > 15
    assert named - rooms == called & named


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
