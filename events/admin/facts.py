"""What the page of one event tells: labelled values, with links to what they name."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from events.admin.cells import NOTHING, plain
from events.admin.objectpages import ObjectPage


class Fact(NamedTuple):
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
