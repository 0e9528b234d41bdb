"""What differs between two documents, object by object and field by field."""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from meshmgmt.configuration.sections import SECTIONS, Key, Row, Section, in_order, keyed

ID: Final = "id"
SINGLE: Final = ("settings", "dns_settings")
"""What is one object, not a list of them."""

Place = tuple[tuple[str, Key], ...]
"""Section and key of an object, of a part behind those of the whole it is in."""

Sides = tuple[Place, Row | None, Row | None]
"""What an object was and is."""


def difference(before: Row, after: Row) -> list[Row]:
    """Return the objects that differ, in the order of the document.

    Each has its `action` (`created`, `changed`, `deleted`), the `section` and `key` that
    it is known by, `within` the same of the whole it is a part of, `ids` as far as the
    documents have them (two of what was made anew), and its `fields`: `before` and
    `after`, of which one is missing where the field is. What is known by another key
    now, but by the same id, was changed.
    """
    sides: list[Sides] = [
        (((name, ("1",)),), before[name], after[name]) for name in SINGLE
    ]
    for section in SECTIONS:
        sides += _paired(section, before[section.name], after[section.name], ())
    sides.sort(key=lambda each: _rank(each[0]))
    found = (_compared(*each) for each in sides)
    return [told for told in found if told is not None]


def _paired(
    section: Section, before: list[Row], after: list[Row], whole: Place
) -> Iterator[Sides]:
    """Yield both sides of each entry, which goes on by its id, else by its key."""
    old, new = keyed(section, before), keyed(section, after)
    ids = {entry[ID]: key for key, entry in old.items() if ID in entry}
    was = {key: ids[entry[ID]] for key, entry in new.items() if entry.get(ID) in ids}
    left = old.keys() - was.values()
    was = {key: key for key in left & new.keys()} | was
    pairs: list[tuple[Key, Row | None, Row | None]] = [
        (key, old[key], None) for key in old.keys() - was.values()
    ]
    pairs += [
        (key, old[was[key]] if key in was else None, entry)
        for key, entry in new.items()
    ]
    for key, one, two in pairs:
        place = (*whole, (section.name, key))
        yield place, one and section.own(one), two and section.own(two)
        for part in section.parts:
            some, others = ((side or {}).get(part.name, []) for side in (one, two))
            yield from _paired(part, some, others, place)


def side_by_side(ours: Row, theirs: Row) -> tuple[Row, Row]:
    """Return two documents in one order, and of the second only what the first has."""
    one, two = _fields(ours, theirs)
    for name in {*SINGLE} & two.keys():
        one[name], two[name] = _fields(ours[name], theirs[name])
    for section in SECTIONS:
        _put(section, one, two)
    return one, two


def _fields(ours: Row, theirs: Row) -> tuple[Row, Row]:
    two = {name: value for name, value in theirs.items() if name in ours}
    return {**{name: ours[name] for name in two}, **ours}, two


def _put(section: Section, ours: Row, theirs: Row) -> None:
    """Put the entries of a section in order, where both sides have it."""
    if section.name not in theirs:
        return
    one, two = (keyed(section, side[section.name]) for side in (ours, theirs))
    for key in one.keys() & two.keys():
        one[key], two[key] = _fields(one[key], two[key])
        for part in section.parts:
            _put(part, one[key], two[key])
    for side, entries in ((ours, one), (theirs, two)):
        side[section.name] = [entries[key] for key in sorted(entries, key=in_order)]


def _compared(place: Place, old: Row | None, new: Row | None) -> Row | None:
    # A dict for a set that keeps its order: the older id first.
    ids = {entry[ID]: None for entry in (old, new) if entry and ID in entry}
    old, new = _unidentified(old), _unidentified(new)
    if old == new:
        return None
    action = "created" if old is None else "deleted" if new is None else "changed"
    sides = {"before": old or {}, "after": new or {}}
    fields: dict[str, Row] = {}
    for name in {**(old or {}), **(new or {})}:
        told = {side: entry[name] for side, entry in sides.items() if name in entry}
        # One side alone has the field: that is no field with the value null.
        if len(told) == 1 or told["before"] != told["after"]:
            fields[name] = told
    *whole, (section, key) = place
    within = [{"section": name, "key": list(known)} for name, known in whole]
    head: Row = {"action": action, "section": section, "key": list(key)}
    if within:
        head["within"] = within[0]
    if ids:
        head["ids"] = list(ids)
    return {**head, "fields": fields}


def _unidentified(entry: Row | None) -> Row | None:
    return entry and {name: value for name, value in entry.items() if name != ID}


def _rank(place: Place) -> Any:
    """Sort as the document does."""
    return [(_order()[name], in_order(key)) for name, key in place]


@cache
def _order() -> dict[str, int]:
    parts = [part.name for section in SECTIONS for part in section.parts]
    names = (SINGLE[0], *(section.name for section in SECTIONS), SINGLE[1], *parts)
    return {name: number for number, name in enumerate(names)}
