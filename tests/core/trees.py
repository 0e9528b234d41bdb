"""The modules of the rooms, as trees."""

import ast
from functools import cache

from meshmgmt.env import BASE_DIR

TOPS = ("meshmgmt", "dns", "groups", "events", "observability")


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
