"""Tags and filters of the admin site's look."""

from typing import Any

from django import template
from django.template.defaultfilters import capfirst, stringfilter
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from meshmgmt.adminsite import look, menu
from meshmgmt.core.printable import printable

register = template.Library()
register.filter("shown", look.shown)
register.filter("spelt", look.spelt, is_safe=True)
register.filter("badge", look.badge)


def visible(text: str) -> str:
    """Return a text, or markup, with escapes for all that is not seen but line ends."""
    return "\n".join(map(printable, text.split("\n")))


register.filter("visible", stringfilter(visible), is_safe=True)


@register.simple_tag
def list_title(opts: Any) -> str:
    """Return the title of a model's list: as the menu calls it, else its plural."""
    name = menu.name_of(opts.label_lower)
    return name or str(capfirst(opts.verbose_name_plural))


@register.simple_tag
def cells(row: list[str], headers: list[dict[str, Any]]) -> SafeString:
    """Return the cells of a row, each with its column's name, for phones to show."""
    marked: SafeString = mark_safe("".join(map(_cell, row, headers)))  # noqa: S308 - all markup
    return marked


def _cell(html: str, header: dict[str, Any]) -> str:
    label = header.get("label") or header.setdefault("label", _label(header))
    opening, mark, rest = look.breakable(visible(html)).partition(">")
    return f"{opening}{label}{mark}{rest}"


def _label(header: dict[str, Any]) -> SafeString:
    is_checkbox = "action-checkbox" in header["class_attrib"]
    return format_html(
        ' data-label="{}"',
        "" if is_checkbox else look.spelt(capfirst(header["text"])),
    )
