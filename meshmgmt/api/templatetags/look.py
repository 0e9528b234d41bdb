"""Tags and filters of the admin site's look."""

from typing import Any

from django import template
from django.template.defaultfilters import capfirst, stringfilter
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from meshmgmt.api import adminlook, adminmenu
from meshmgmt.core.printable import printable

register = template.Library()
register.filter("shown", adminlook.shown)
register.filter("badge", adminlook.badge)


@register.filter(is_safe=True)
@stringfilter
def visible(text: str) -> str:
    """Return a text, or markup, with escapes for all that is not seen but line ends."""
    return "\n".join(map(printable, text.split("\n")))


@register.simple_tag
def list_title(opts: Any) -> str:
    """Return the title of a model's list: as the menu calls it, else its plural."""
    name = adminmenu.name_of(opts.label_lower)
    return name or str(capfirst(opts.verbose_name_plural))


@register.simple_tag
def cell(html: str, headers: list[dict[str, Any]], index: int) -> SafeString:
    """Return a cell of a list with its column's name, which phones show beside it."""
    header = headers[index]
    label = header.get("label") or header.setdefault("label", _label(header))
    opening, mark, rest = adminlook.breakable(visible(html)).partition(">")
    marked: SafeString = mark_safe(opening + label + mark + rest)  # noqa: S308 - all markup
    return marked


def _label(header: dict[str, Any]) -> SafeString:
    is_checkbox = "action-checkbox" in header["class_attrib"]
    return format_html(
        ' data-label="{}"', "" if is_checkbox else capfirst(header["text"])
    )
