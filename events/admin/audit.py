"""Explorer of the audit trail, with links to the objects it tells of."""

from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.activities import LABELS
from events.admin.cells import Fact, joined, named, only, plain
from events.admin.changetable import change_table, mentioned_ids, shown_value
from events.admin.explorer import Explorer
from events.admin.here import Here, link_to
from events.admin.names import Kinds
from events.admin.objectpages import EVERY_KIND, ObjectPages, kind_of
from events.admin.pageparts import TIME, Column, View
from events.api.audit import AuditEventsView, AuditFilterSet
from events.audit.rows import detail_row
from events.audit.specs import all_specs
from events.models import AuditEvent
from meshmgmt.adminsite.look import instant
from meshmgmt.api.permissions import may_write

_LEFT: Final = ["peer.group.delete", "resource.group.delete"]


def codes() -> dict[str, str]:
    """Return codes and families of codes, with what they mean."""
    families = dict.fromkeys(f"{code.partition('.')[0]}.*" for code in LABELS)
    return dict.fromkeys(families, "all of them") | LABELS


def kinds() -> dict[str, str]:
    """Return the kinds of objects that events are about."""
    names = sorted(str(spec.model._meta.model_name) for spec in all_specs())
    return {name: kind_of(name) for name in names}


@admin.register(AuditEvent)
class AuditEventAdmin(Explorer):
    """Who changed this."""

    filterset_class = AuditFilterSet
    api_view = AuditEventsView
    summary_url_name = "audit-summary"
    columns = (
        TIME,
        Column("what", "Activity"),
        Column("initiator", "Initiator"),
        Column("target", "Target"),
        Column("group", "Group"),
        Column("source_address", "From"),
    )
    filters = ("activity_code", "initiator_id", "group_id", "search")
    more_filters = ("target_id", "target_type", "source_address")
    suggestions = {"activity_code": codes, "target_type": kinds}
    named = {
        "initiator_id": Kinds("user", ("user",)),
        "user_id": Kinds("user", ("user",)),
        "group_id": Kinds("group", ("group",)),
        "target_id": Kinds("object", EVERY_KIND),
        "target_type": Kinds("kind of object"),
        "source_address": Kinds("address"),
        "activity_code": Kinds("activity"),
    }

    def views(self) -> list[View]:
        week = {"start_date": "-7d"}
        return [
            View("Membership removed, last 7 days", week | {"activity_code": _LEFT}),
            View("Deleted, last 7 days", week | {"activity_code": "*.delete"}),
            View("Tokens, last 7 days", week | {"activity_code": "*.token.*"}),
            View("Last 24 hours", {"start_date": "-24h"}),
        ]

    def cells(self, row: AuditEvent, here: Here) -> list[SafeString]:
        code = row.activity_code
        group = row.meta.get("group_id", "")
        kind = kind_of(row.target_type)
        if row.target_type == "accesstoken":  # filed under its user
            kind += f" of {row.meta.get('user_name') or row.meta.get('email')}"
        return [
            only(here, "activity_code", code, row.activity, code),
            only(here, "initiator_id", row.initiator_id, row.initiator),
            only(here, "target_id", row.target_id, row.target_name, kind),
            only(here, "group_id", group, row.meta.get("group", "")),
            only(here, "source_address", row.source_address),
        ]

    def names(self, row: AuditEvent) -> dict[str, str]:
        return {
            "initiator_id": row.initiator,
            "user_id": row.initiator,
            "group_id": str(row.meta.get("group", "")) or row.target_name,
            "target_type": kind_of(row.target_type),
        }

    def facts(self, row: AuditEvent, pages: ObjectPages) -> list[Fact]:
        group = str(row.meta.get("group_id", ""))
        said = [row.meta, row.changes]
        ids = {row.initiator_id, row.token_id, group, *mentioned_ids(said)}
        known = pages.of_ids(ids)
        target = pages.of_event(row)
        at = {} if target is None else {row.target_id: target}
        object_ = named(at, row.target_id, row.target_name)
        changes = change_table(row.changes, known) if row.changes else "none"
        return [
            Fact("Time", instant(row.timestamp)),
            Fact("Activity", joined(row.activity, row.activity_code)),
            Fact("Initiator", named(known, row.initiator_id, row.initiator)),
            Fact("Object", format_html("{} {}", kind_of(row.target_type), object_)),
            Fact("Group", named(known, group, str(row.meta.get("group", "")))),
            Fact("Reason", plain(row.meta.get("reason", ""))),
            Fact("Changes", changes),
            Fact("Details", shown_value(row.meta, known)),
            Fact("From address", plain(row.source_address)),
            Fact("Token", named(known, row.token_id)),
            Fact("Request", plain(row.request_id)),
        ]

    def ways(self, row: AuditEvent) -> dict[str, tuple[str, str]]:
        return {
            "all events of this object": ("target_id", row.target_id),
            "everything its initiator did": ("initiator_id", row.initiator_id),
            "all of the same request": ("search", row.request_id),
        }

    def see_also(self, request: HttpRequest, row: AuditEvent) -> SafeString:
        compare = f"{reverse('admin-compare')}{link_to({'event': str(row.pk)})}"
        ways = {compare: "the configuration before and after"}
        if may_write(request):
            revert = reverse("admin-audit-revert", args=[row.pk])
            ways[revert] = "take it back"
        links = (format_html('<a href="{}">{}</a>', *way) for way in ways.items())
        return joined(super().see_also(request, row), *links)

    def raw(self, row: AuditEvent) -> dict[str, Any]:
        return detail_row(row)
