"""There is one model of who sees whom; nothing else puts rules and members together."""

import ast
from functools import cache
from pathlib import Path

TOP = Path(__file__).parents[2]
ROOMS = ("meshmgmt", "dns", "groups", "events", "observability")
SIDES = {
    *("RuleSource", "RuleDestination", "RouteGroup", "RoutePeerGroup"),
    *("RouterPeerGroup", "PolicyPostureCheck"),
}
MEMBERS = {"GroupPeer", "group_members"}
LOADER = "meshmgmt/meshstate/tables.py"
OTHERS = {
    "meshmgmt/access/admin/networks.py": "forms, which name both",
    "meshmgmt/access/admin/rules.py": "forms, which name both",
    "meshmgmt/access/selectors/networks.py": "counts routing peers as clients know it",
    "meshmgmt/demo/large.py": "writes both",
}


@cache
def used() -> dict[str, set[str]]:
    """Each module with the names that it uses, attributes with their dot."""
    found = {}
    for room in ROOMS:
        for path in sorted((TOP / room).rglob("*.py")):
            if "migrations" not in path.parts:
                tree = ast.parse(path.read_text("utf-8"))
                nodes = list(ast.walk(tree))
                names = {node.id for node in nodes if isinstance(node, ast.Name)}
                names |= {f".{n.attr}" for n in nodes if isinstance(n, ast.Attribute)}
                found[str(path.relative_to(TOP))] = names
    return found


BOTH_SIDES = {
    "meshmgmt/access/rules/policies.py": "what a client may write",
    "meshmgmt/access/selectors/policies.py": "shows policies",
    "meshmgmt/access/services/policies.py": "writes policies",
    "meshmgmt/demo/streams.py": "asks the mesh",
    "meshmgmt/explain/admin.py": "shows what the mesh tells",
    "meshmgmt/explain/graphing.py": "draws what the mesh tells",
}


def test_only_the_loader_reads_sides_of_rules_together_with_members():
    bare = {path: {n.lstrip(".") for n in names} for path, names in used().items()}
    both = {path for path, names in bare.items() if names & SIDES and names & MEMBERS}
    assert both - OTHERS.keys() == {LOADER}


def test_nothing_else_looks_at_both_sides_of_rules():
    """Whoever joins sources and destinations begins a second model."""
    both = {
        path
        for path, names in used().items()
        if {".sources", ".destinations"} <= names
        and not path.startswith("meshmgmt/mesh/")
    }
    assert both == BOTH_SIDES.keys()
