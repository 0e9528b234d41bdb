"""How pages of the admin site show states, and texts that others chose."""

from typing import Final

from django.utils.html import format_html
from django.utils.safestring import SafeString

from meshmgmt.core.printable import printable

_KINDS: Final = {
    "good": ("active", "connected", "enabled", "online", "valid"),
    "wait": ("expiring", "pending", "pending approval"),
    "bad": ("blocked", "expired", "overused", "revoked"),
}
_KIND_OF: Final = {state: kind for kind, states in _KINDS.items() for state in states}


def badge(state: str) -> SafeString:
    """Return a state as a coloured word; one that is neither good nor bad stays grey."""
    kind = _KIND_OF.get(state, "idle")
    return format_html('<span class="badge badge-{}">{}</span>', kind, state)


def shown(text: object) -> SafeString:
    """Return a text that others chose, apart from its surroundings, hiding nothing."""
    return format_html("<bdi>{}</bdi>", printable(str(text)))
