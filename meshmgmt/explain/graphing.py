"""The access graph of the account, and where its parts are drawn."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from meshmgmt.core.errors import NotFound
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.graph import Edge, End, Graph, graph, subject_with
from meshmgmt.mesh.shifts import Shifts, shifts
from meshmgmt.meshstate.loading import load, mesh_of

FOCUS: Final = "group, peer, resource or policy"
# Pixels; lines bend between columns so far apart that labels of rules fit beside them.
_BOX_WIDTH, _BOX_HEIGHT, _ROW = 250, 40, 52
_LEFT, _MIDDLE, _RIGHT = 10, 360, 790
WIDTH: Final = _RIGHT + _BOX_WIDTH + 10
_LETTERS: Final = 30
_STATES: Final = {"disabled": "disabled", "nobody": "nobody on one side"}


class Box(NamedTuple):
    """An end or a rule: its corner, what it says, and the id to look at more closely."""

    x: int
    y: int
    focus: str
    name: str
    text: str
    note: str
    state: str = ""


class Line(NamedTuple):
    """A way from an end to a rule or on; arrows at its begin or end, if any."""

    path: str
    state: str
    begin: str = ""
    end: str = ""


class Label(NamedTuple):
    """What a rule is about, beside the lines that leave it."""

    x: int
    y: int
    text: str


class Picture(NamedTuple):
    """Sources on the left, rules in the middle, destinations on the right."""

    height: int
    boxes: list[Box]
    lines: list[Line]
    labels: list[Label]


def access_graph(focus: str = "") -> Graph:
    """Return the graph about what has this id, without one of the whole account.

    To be called in one `read_snapshot()`. Raises NotFound.
    """
    mesh = mesh_of(load)
    about = subject_with(mesh.snapshot, focus) if focus else None
    if focus and about is None:
        raise NotFound.of(FOCUS, focus)
    return graph(mesh, about)


def policy_effect(policy_id: str) -> tuple[Graph, Shifts]:
    """Return what one policy is about, and what would change without it.

    To be called in one `read_snapshot()`. Raises NotFound.
    """
    mesh = mesh_of(load)
    about = subject_with(mesh.snapshot, policy_id)
    if about is None:
        raise NotFound.of("policy", policy_id)
    # The same account without it, so that whatever else lets them through counts.
    others = tuple(p for p in mesh.snapshot.policies if p.id != policy_id)
    without = Mesh(replace(mesh.snapshot, policies=others), mesh.now)
    return graph(mesh, about), shifts(mesh, without)


def members(end: End) -> str:
    """What an end stands for: `3 peers, 1 resource`."""
    counts = (("peer", end.peers), ("resource", end.resources), ("route", end.routes))
    found = [f"{n} {what}{'' if n == 1 else 's'}" for what, n in counts if n]
    return ", ".join(found) or "nobody"


def state(edge: Edge) -> str:
    """What keeps a rule from working, in words; empty for one in force."""
    return _STATES.get(edge.state, "")


def traffic(edge: Edge) -> str:
    """What a rule is about, with what becomes of it if it drops."""
    return edge.traffic if edge.effect == "accept" else f"drops {edge.traffic}"


def picture(drawn: Graph) -> Picture:
    """Place what has a rule; what has none is for the table."""
    ends = {end.id: end for end in drawn.nodes}
    rows = {edge.rule: row for row, edge in enumerate(drawn.edges)}
    left = _rows((id_, rows[edge.rule]) for edge in drawn.edges for id_ in edge.sources)
    right = _rows(
        (i, rows[edge.rule]) for edge in drawn.edges for i in edge.destinations
    )
    boxes = [
        _end(ends[id_], x, row)
        for x, column in ((_LEFT, left), (_RIGHT, right))
        for id_, row in column.items()
    ]
    boxes += [_rule(edge, rows[edge.rule]) for edge in drawn.edges]
    lines = [line for e in drawn.edges for line in _lines(e, rows[e.rule], left, right)]
    labels = [
        Label(_MIDDLE + _BOX_WIDTH + 14, _ROW * row + 12, _short(traffic(edge), 22))
        for row, edge in enumerate(drawn.edges)
    ]
    height = _ROW * max(len(left), len(right), len(rows), 1)
    return Picture(height, boxes, lines, labels)


def _rows(uses: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Rows for ends, each near the middle of its rules."""
    found: dict[str, list[int]] = {}
    for id_, row in uses:
        found.setdefault(id_, []).append(row)
    # By their mean row, lines cross little.
    ranked = sorted(found, key=lambda id_: sum(found[id_]) / len(found[id_]))
    return {id_: row for row, id_ in enumerate(ranked)}


def _end(end: End, x: int, row: int) -> Box:
    return Box(x, _ROW * row, end.id, end.name, _short(end.name), members(end))


def _rule(edge: Edge, row: int) -> Box:
    note = ", ".join(filter(None, (state(edge), *edge.checks)))
    name = edge.policy.name
    return Box(
        _MIDDLE, _ROW * row, edge.policy.id, name, _short(name), note, edge.state
    )


def _lines(
    edge: Edge, row: int, left: dict[str, int], right: dict[str, int]
) -> Iterator[Line]:
    stop = "arrow" if edge.effect == "accept" else "stop"
    for id_ in edge.sources:
        path = _path(_LEFT + _BOX_WIDTH, left[id_], _MIDDLE, row)
        yield Line(path, edge.state, begin=stop if edge.bidirectional else "")
    for id_ in edge.destinations:
        path = _path(_MIDDLE + _BOX_WIDTH, row, _RIGHT, right[id_])
        yield Line(path, edge.state, end=stop)


def _path(x1: int, row1: int, x2: int, row2: int) -> str:
    y1, y2 = (_ROW * row + _BOX_HEIGHT // 2 for row in (row1, row2))
    bend = (x1 + x2) // 2
    return f"M{x1} {y1}C{bend} {y1} {bend} {y2} {x2} {y2}"


def _short(text: str, letters: int = _LETTERS) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}…"
