"""What a difference leads to, from the document that it begins at."""

from collections.abc import Iterable, Mapping
from typing import Any

from meshmgmt.configuration.difference import (
    SINGLE,
    Objects,
    Place,
    _objects,
    _rank,
)
from meshmgmt.configuration.sections import SECTIONS, Row


def applied(document: Row, changes: Iterable[Row]) -> Row:
    """Return the document that a difference leads to, from the one it begins at."""
    objects = _objects(document)
    for change in changes:
        place = _place(change)
        if change["action"] == "deleted":
            del objects[place]
            continue
        # Copied, for the document that it begins at is somebody else's.
        entry = {} if change["action"] == "created" else dict(objects[place])
        for name, sides in change["fields"].items():
            entry.pop(name, None)
            entry |= {name: sides["after"]} if "after" in sides else {}
        objects[place] = entry
    return _document(document, objects)


def _place(change: Mapping[str, Any]) -> Place:
    within = [change["within"]] if "within" in change else []
    return tuple((at["section"], tuple(at["key"])) for at in (*within, change))


def _document(base: Row, objects: Objects) -> Row:
    document: Row = {name: objects[(name, ("1",)),] for name in SINGLE}
    made: dict[Place, Row] = {}
    document |= {section.name: [] for section in SECTIONS}
    parts = {section.name: section.parts for section in SECTIONS}
    for place in sorted(objects, key=_rank):
        *whole, (section, _) = place
        if section in SINGLE:
            continue
        made[place] = {
            **objects[place],
            **{part.name: [] for part in parts.get(section, ())},
        }
        holder = made[tuple(whole)] if whole else document
        holder[section].append(made[place])
    return {name: document.get(name, base[name]) for name in base}
