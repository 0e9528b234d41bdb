"""What an audit event changed, as a table for people."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeGuard

import orjson
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.objectpages import ObjectPage
from meshmgmt.adminsite.look import spelt

Changes = Mapping[str, Mapping[str, Any]]
Pages = Mapping[str, ObjectPage]

_ID: Final = re.compile(r"[0-9a-v]{20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
# Not what is falsy: 0 and False are told.
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_NOTHING: Final = SafeString('<span class="quiet">none</span>')


def mentioned_ids(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value that looks like the id of an object."""
    if isinstance(value, str):
        if _ID.fullmatch(value):
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from mentioned_ids(part)
    elif isinstance(value, list):
        for part in value:
            yield from mentioned_ids(part)


def change_table(changes: Changes, pages: Pages) -> SafeString:
    """Return fields before and after, and what came into lists and went.

    Ids of objects that exist show as names that lead to their `pages`.
    """
    rows = format_html_join(
        "",
        '<tr><th scope="row">{}</th><td>{}</td><td>{}</td></tr>',
        ((_label(name), *_sides(change, pages)) for name, change in changes.items()),
    )
    head = SafeString(
        '<thead><tr><th scope="col">Field</th><th scope="col">Before</th>'
        '<th scope="col">After</th></tr></thead>'
    )
    return format_html(
        '<div class="event-diff"><table>{}<tbody>{}</tbody></table></div>', head, rows
    )


def _label(name: str) -> str:
    """Return a name of ours as people write it; others stay as they are."""
    if not _OWN_NAME.fullmatch(name):
        return name
    return spelt(f"{name[:1].upper()}{name[1:].replace('_', ' ')}")


def _sides(change: Mapping[str, Any], pages: Pages) -> tuple[SafeString, SafeString]:
    if "before" in change or "after" in change:
        before, after = change.get("before"), change.get("after")
        if _is_of_objects(before) and _is_of_objects(after):
            return _differing(before, after, pages), _differing(after, before, pages)
        return shown_value(before, pages), shown_value(after, pages)
    came, went = change.get("added", []), change.get("removed", [])
    if not came and not went:
        return SafeString(""), _items(change.get("order", []), pages, "")
    return _items(went, pages, "- "), _items(came, pages, "+ ")


def _is_of_objects(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and any(isinstance(part, dict) for part in value)


def _differing(members: list[Any], others: list[Any], pages: Pages) -> SafeString:
    """Return the members that the others lack, and how many they have, too.

    Where only their order differs, all of them.
    """
    # As texts: objects cannot be members of a set.
    known = set(map(_text, others))
    own = [x for x in members if _text(x) not in known]
    if known == set(map(_text, members)):
        return shown_value(members, pages)
    text = '{}<div class="quiet">{} unchanged</div>'
    same = len(members) - len(own)
    items = _items(own, pages, "")
    return format_html(text, items, same) if same else items


def _text(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _items(members: Iterable[Any], pages: Pages, sign: str) -> SafeString:
    rows = ((sign, shown_value(member, pages)) for member in members)
    return format_html_join("", "<div>{}{}</div>", rows)


def shown_value(value: Any, pages: Pages) -> SafeString:
    """Return a JSON value as people read it: no quotes, one line per element.

    What is empty within an object is left out.
    """
    if value in _EMPTY:
        return _NOTHING
    match value:
        case str() if value in pages:
            return pages[value].link
        case [str() as key, str() as kind] if key in pages and not _ID.fullmatch(kind):
            # a resource of a group
            return format_html("{} ({})", pages[key].link, kind)
        case list():
            return _items(value, pages, "")
        case dict():
            return _object(value, pages)
    return format_html(
        "{}", value if type(value) is not bool else "yes" if value else "no"
    )


def _object(value: Mapping[str, Any], pages: Pages) -> SafeString:
    """Return the fields of an object, in one line where they are all single values."""
    said = {name: part for name, part in value.items() if part not in _EMPTY}
    if not said:
        return _NOTHING
    rows = [(_label(name), _inline(part, pages)) for name, part in said.items()]
    if any(isinstance(part, dict | list) for part in said.values()):
        return format_html_join("", '<div class="part">{}: {}</div>', rows)
    return format_html_join(", ", "{}: {}", rows)


def _inline(value: Any, pages: Pages) -> SafeString:
    """Return the value of an object's field, a list of texts in one line."""
    if isinstance(value, list) and not any(isinstance(x, dict | list) for x in value):
        return format_html_join(", ", "{}", ((shown_value(x, pages),) for x in value))
    return shown_value(value, pages)
