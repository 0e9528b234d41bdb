"""How explorers write times, sizes, names and links; what the page of an event tells."""

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import orjson
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.here import Here
from events.admin.objectpages import ObjectPage

_STEP: Final = 1024
_LARGER_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")
NOTHING: Final = SafeString('<span class="quiet">-</span>')


def shown_size(count: int) -> str:
    """Return a number of bytes as people read it, as the charts write it."""
    size, unit = float(count), "B"
    for larger in _LARGER_UNITS:
        if size < _STEP:
            break
        size, unit = size / _STEP, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def only(
    here: Here, name: str, value: Any, shown: Any = "", detail: str = ""
) -> SafeString:
    """Return a value that leads to the rows that share it.

    `shown` is what people call it, `detail` stands below, smaller.
    """
    text = str(shown or value)
    if not text:
        return NOTHING
    # A name written from right to left turns nothing around it.
    cell = format_html("<bdi>{}</bdi>", text)
    if value not in ("", None):
        cell = format_html(
            '<a href="{}">{}</a>', here.with_(**{name: str(value)}), cell
        )
    if not detail or detail == text:
        return cell
    return format_html('{}<div class="detail"><bdi>{}</bdi></div>', cell, detail)


def plain(value: Any) -> SafeString:
    return format_html("<bdi>{}</bdi>", value) if value not in ("", None) else NOTHING


def json_block(value: Any) -> SafeString:
    text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    return format_html('<div class="event-json">{}</div>', text)


class Fact(NamedTuple):
    """A labelled value."""

    label: str
    value: SafeString | str


def named(pages: dict[str, ObjectPage], key: str, name: str = "") -> SafeString:
    """Return what an id names, as a link where it has a page."""
    shown = plain(name or key)
    if key not in pages:
        return shown
    return format_html(
        '<a href="{}">{}</a>', pages[key].url, plain(name or pages[key].name)
    )


def joined(*parts: Any) -> SafeString:
    """Return the parts that there are, with commas."""
    there = [part for part in parts if part not in ("", None, NOTHING)]
    if not there:
        return NOTHING
    return format_html_join(", ", "{}", ((part,) for part in there))


def present(facts: Iterable[Fact]) -> list[Fact]:
    return [fact for fact in facts if fact.value not in ("", NOTHING)]
