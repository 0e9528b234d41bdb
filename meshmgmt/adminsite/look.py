"""How pages of the admin site show states, and texts that others chose."""

import datetime as dt
import re
from collections.abc import Iterable
from typing import Any, Final

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

SHOWN: Final = 3
"""How many of several things a row of a list names."""
_AT: Final = re.compile("@(?=[^<>]*<)")
"""An `@` between tags, not within one."""
_TONES: Final = {
    "ok": ("active", "connected", "enabled", "valid"),
    "warn": ("expiring", "pending", "pending approval"),
    "bad": ("blocked", "expired", "overused", "revoked"),
}
_SPELT: Final = {
    **{word: word.upper() for word in ("Api", "Dns", "Id", "Ip", "Jwt", "Ssh", "Ttl")},
    **{word: word.upper() for word in ("Icmp", "Tcp", "Udp")},
    "Ipv6": "IPv6",
}
"""Abbreviations as Django makes labels of them, and as they are written."""
_WORDS: Final = re.compile(rf"\b({'|'.join(_SPELT)})\b")
_TONE_OF: Final = {state: tone for tone, states in _TONES.items() for state in states}


def badge(state: str, tone: str = "") -> SafeString:
    """Return a state as a coloured word.

    Tones are ok, warn, bad and off, which is that of states that are not known here.
    """
    tone = tone or _TONE_OF.get(state, "off")
    return format_html('<span class="badge badge--{}">{}</span>', tone, state)


@admin.display(description="state", ordering="enabled")
def enabled(row: Any) -> SafeString:
    """Return whether an object is switched on, as a column of lists."""
    return badge("enabled" if row.enabled else "disabled")


def second(when: dt.datetime) -> str:
    """Return a time to the second; what it stands in says that times are UTC."""
    return f"{when.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S}"


def instant(when: dt.datetime) -> str:
    """Return a time with all that is known of it."""
    return f"{when.astimezone(dt.UTC).isoformat(' ').removesuffix('+00:00')} UTC"


def moment(when: dt.datetime) -> SafeString:
    """Return a time to the second, which says all that is known of it when pointed at."""
    text = '<time datetime="{}" title="{}">{}</time>'
    return format_html(text, when.isoformat(), instant(when), second(when))


def some(
    parts: Iterable[Any], *, whole: bool, separator: str = ", ", none: str = "-"
) -> SafeString:
    """Return the first of several parts and how many more there are, `whole`: all."""
    found = list(parts)
    first = found if whole else found[:SHOWN]
    text = format_html_join(separator, "{}", ((part,) for part in first))
    if (more := len(found) - len(first)) > 0:
        return format_html('{} <span class="quiet">and {} more</span>', text, more)
    return text or format_html("{}", none)


def spelt(label: object) -> str:
    """Return a label that Django made of a name, abbreviations in capitals."""
    return _WORDS.sub(lambda found: _SPELT[found[0]], str(label))


def shown(text: object) -> SafeString:
    """Return a text that others chose, apart from its surroundings."""
    return breakable(format_html("<bdi>{}</bdi>", text))


def breakable(html: str) -> SafeString:
    """Return markup whose e-mail addresses break before the `@`, not in mid-word."""
    marked: SafeString = mark_safe(_AT.sub("<wbr>@", html))  # noqa: S308 - all markup
    return marked
