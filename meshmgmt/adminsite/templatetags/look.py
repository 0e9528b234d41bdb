"""Tags and filters of the admin site's look, and the cards of its first page."""

import re
from typing import Any, Final

from django import template
from django.template.defaultfilters import capfirst
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from meshmgmt.adminsite import home, look, menu
from meshmgmt.core import clock

_MOMENT: Final = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d)(:\d\d)Z(?=</t[dh]>$)")
"""A cell that is a time, as Django writes one, without its opening tag."""
_TAGS: Final = re.compile(r"<[^>]*>|\s")
_NUMBER: Final = re.compile(r"[\d,]+(?:\.\d+)?|-?|all")

register = template.Library()
register.filter("shown", look.shown)
register.filter("spelt", look.spelt, is_safe=True)
register.filter("badge", look.badge)
register.filter("moment", look.moment)


@register.inclusion_tag("admin/includes/home_cards.html", takes_context=True)
def home_cards(context: template.Context) -> dict[str, Any]:
    """Show what the rooms say to the signed-in user, and when they said it."""
    return {"cards": home.cards(context["request"]), "now": clock.now()}


@register.simple_tag
def list_title(opts: Any) -> str:
    """Return the title of a model's list: as the menu calls it, else its plural."""
    name = menu.name_of(opts.label_lower)
    return name or str(capfirst(opts.verbose_name_plural))


@register.simple_tag
def mark_numbers(headers: list[dict[str, Any]], rows: list[list[str]]) -> str:
    """Have the columns of numbers stand to the right, headings too."""
    for number, header in enumerate(headers):
        column = [_TAGS.sub("", row[number]) for row in rows]
        # A column of dashes alone is none of numbers.
        is_number = any(map(str.isdigit, "".join(column)))
        header["is_number"] = is_number and all(map(_NUMBER.fullmatch, column))
    return ""


@register.simple_tag
def cells(row: list[str], headers: list[dict[str, Any]]) -> SafeString:
    """Return the cells of a row, each with its column's name, for phones to show."""
    marked: SafeString = mark_safe("".join(map(_cell, row, headers)))  # noqa: S308 - all markup
    return marked


def _cell(html: str, header: dict[str, Any]) -> str:
    label = header.get("label") or header.setdefault("label", _label(header))
    opening, mark, rest = look.breakable(html).partition(">")
    if found := _MOMENT.match(rest):
        rest = found.expand(r'<time title="\1\2 UTC">\1</time>') + rest[found.end() :]
    number = " data-number" if header.get("is_number") else ""
    return f"{opening}{label}{number}{mark}{rest}"


def _label(header: dict[str, Any]) -> SafeString:
    is_checkbox = "action-checkbox" in header["class_attrib"]
    return format_html(
        ' data-label="{}"', "" if is_checkbox else look.spelt(capfirst(header["text"]))
    )
