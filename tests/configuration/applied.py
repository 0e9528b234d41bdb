"""What a difference leads to, from the document that it begins at."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from meshmgmt.configuration.difference import ID, SINGLE, Place, _rank
from meshmgmt.configuration.sections import SECTIONS, Row, Section, keyed

Objects = dict[Place, Row]


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


Identified = dict[tuple[str, str], Row]


def in_order(objects: Identified) -> list[tuple[str, str]]:
    """Return sections and entries; what was made anew as it was is the same."""
    return sorted(
        (section, json.dumps(entry, sort_keys=True))
        for (section, _), entry in objects.items()
    )


def by_id(document: Row) -> Identified:
    """Return the objects of a document, whose entries have ids, by section and id."""
    return {
        (place[-1][0], entry.get(ID, "")): {k: v for k, v in entry.items() if k != ID}
        for place, entry in _objects(document).items()
    }


def applied_by_id(document: Row, changes: Iterable[Row]) -> Identified:
    """Return the objects that a difference leads to, by section and id."""
    objects = by_id(document)
    # A resource that moved was deleted in one network and created in another.
    for change in sorted(changes, key=lambda change: change["action"] != "deleted"):
        ids = change.get("ids", [""])
        entry = (
            {}
            if change["action"] == "created"
            else objects.pop((change["section"], ids[0]))
        )
        if change["action"] == "deleted":
            continue
        for name, sides in change["fields"].items():
            assert sides.get("before") == entry.pop(name, None)
            entry |= {name: sides["after"]} if "after" in sides else {}
        objects[change["section"], ids[-1]] = entry
    return objects


def _objects(document: Row) -> Objects:
    found: Objects = {((name, ("1",)),): document[name] for name in SINGLE}
    for section in SECTIONS:
        found |= _listed(section, document[section.name], ())
    return found


def _listed(
    section: Section, entries: list[Row], whole: Place
) -> Iterator[tuple[Place, Row]]:
    for key, entry in keyed(section, entries).items():
        place = (*whole, (section.name, key))
        yield place, section.own(entry)
        for part in section.parts:
            yield from _listed(part, entry[part.name], place)
