"""What an audit event changed, as a table for people."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.objectpages import ObjectPage

Changes = Mapping[str, Mapping[str, Any]]
Pages = Mapping[str, ObjectPage]

_ID: Final = re.compile(r"[0-9a-v]{20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
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
        ((name, *_sides(change, pages)) for name, change in changes.items()),
    )
    head = SafeString(
        '<thead><tr><th scope="col">Field</th><th scope="col">Before</th>'
        '<th scope="col">After</th></tr></thead>'
    )
    return format_html(
        '<div class="event-diff"><table>{}<tbody>{}</tbody></table></div>', head, rows
    )


def _sides(change: Mapping[str, Any], pages: Pages) -> tuple[SafeString, SafeString]:
    if "before" in change or "after" in change:
        return (
            shown_value(change.get("before"), pages),
            shown_value(change.get("after"), pages),
        )
    came, went = change.get("added", []), change.get("removed", [])
    if not came and not went:
        return SafeString(""), _items(change.get("order", []), pages, "")
    return _items(went, pages, "- "), _items(came, pages, "+ ")


def _items(members: Iterable[Any], pages: Pages, sign: str) -> SafeString:
    rows = ((sign, shown_value(member, pages)) for member in members)
    return format_html_join("", "<div>{}{}</div>", rows)


def shown_value(value: Any, pages: Pages) -> SafeString:
    """Return a JSON value as people read it: no quotes, one line per element."""
    if value in (None, "", [], {}):
        return _NOTHING
    match value:
        case str():
            return pages[value].link if value in pages else format_html("{}", value)
        case [str() as key, str() as kind] if key in pages and not _ID.fullmatch(kind):
            # a resource of a group
            return format_html("{} ({})", pages[key].link, kind)
        case list():
            return _items(value, pages, "")
        case dict() if _is_flat(value):
            rows = ((name, shown_value(part, pages)) for name, part in value.items())
            return format_html_join(", ", "{}: {}", rows)
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return format_html("{}", text)


def _is_flat(value: Mapping[str, Any]) -> bool:
    return not any(isinstance(part, dict | list) for part in value.values())
