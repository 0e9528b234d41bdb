"""What a write would do, for the pages that ask before it: it is tried, and undone."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.activities import LABELS, Activity
from events.admin.objectpages import ObjectPages, kind_of
from events.audit.reading import last_id, newest_first
from events.models import AuditEvent
from meshmgmt.core.printable import counted
from meshmgmt.core.transactions import account_write, joined_write

MOST: Final = 500
_DONE: Final = {
    ".token.delete": "will be revoked",
    ".delete": "will be deleted",
    ".approval.revoke": "will wait for approval",
    ".revoke": "will be revoked",
    ".approve": "will be approved",
    ".unblock": "will be unblocked",
    ".block": "will be blocked",
    ".login.expire": "will have to sign in again",
    "access_test.fail": "will fail",
    "access_test.pass": "will hold again",
}
"""By the end of a code, in the order in which they are looked at: what becomes of it."""

_LOSING: Final = {code for code in LABELS if code.endswith(".group.delete")} - {
    Activity.NAMESERVER_GROUP_DELETE
}
_LOSSES: Final = {
    # Groups of users and keys are those that peers they enrol will join.
    "user": "loses auto-group",
    "setupkey": "loses auto-group",
    "dnssettings": "will manage the DNS of group",
}
"""What becomes of a target, by its kind, that loses a group."""


class _Seen(Exception):
    """Takes back what was only tried."""


class Foresight:
    """Answers for `meshmgmt.adminsite.trail`."""

    def last_change(self, key: str) -> str:
        """Return who wrote the newest event that names an object, and when."""
        named = AuditEvent.objects.filter(search__holds=key)
        event = newest_first(named).first()
        if event is None:
            return ""
        who = event.initiator_email or event.initiator_name or event.initiator_id
        return f"{who or 'a command'} at {event.timestamp:%Y-%m-%d %H:%M:%S} UTC"

    def foresee(
        self, request: HttpRequest, write: Callable[[], None]
    ) -> list[SafeString]:
        """Return what the trail would say of a write, a line for each event."""
        events: list[AuditEvent] = []
        newest = more = 0

        def look() -> None:
            nonlocal more
            coming = AuditEvent.objects.filter(id__gt=newest).defer("search")
            events.extend(coming.order_by("id")[:MOST])
            more = coming.count() - len(events)
            raise _Seen

        # No transaction around the write, in which it would not queue with the others.
        with suppress(_Seen), joined_write(on_end=look), account_write():
            newest = last_id()
            write()
        pages = ObjectPages(request)
        pages.look_up(events)
        gone = {event.target_id: event.target_name for event in events}
        lines = [_line(event, pages, gone) for event in events]
        if more:
            lines.append(format_html("and {}", counted(more, "further change")))
        return lines


def _line(event: AuditEvent, pages: ObjectPages, gone: Mapping[str, str]) -> SafeString:
    page = pages.of_event(event)
    name = (
        format_html("<bdi>{}</bdi>", event.target_name) if page is None else page.link
    )
    return format_html(
        "{} {}: {}", kind_of(event.target_type), name, effect(event, gone)
    )


def _lost(event: AuditEvent) -> str:
    if event.target_type == "group":
        return f"loses resource {event.meta.get('resource_name', '')}".strip()
    verb = _LOSSES.get(event.target_type, "leaves group")
    return f"{verb} {event.meta.get('group', '')}".strip()


def effect(event: AuditEvent, gone: Mapping[str, str]) -> str:
    """Say what becomes of the event's target; `gone` names what it may lose, by id."""
    before, after = (
        event.changes.get("enabled", {}).get(end) for end in ("before", "after")
    )
    if before is not None and after is not None:
        return "will be enabled" if after else "will be disabled"
    if event.activity_code in _LOSING:
        return _lost(event)
    for end, done in _DONE.items():
        if event.activity_code.endswith(end):
            return done
    fields = ", ".join(field.replace("_", " ") for field in event.changes)
    removed = [
        key for change in event.changes.values() for key in change.get("removed", ())
    ]
    if lost := [gone[key] for key in removed if isinstance(key, str) and key in gone]:
        return f"loses {', '.join(dict.fromkeys(lost))} ({fields})"
    return f"will be changed ({fields})" if fields else event.activity
