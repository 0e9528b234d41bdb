"""Explorer of the reverse proxy access logs."""

from functools import partial
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import Truncator

from events import directory
from events.admin.cells import Fact, joined, named, only, plain, shown_size
from events.admin.changetable import mentioned_ids, shown_value
from events.admin.explorer import Explorer
from events.admin.here import Here
from events.admin.names import Kinds
from events.admin.objectpages import ObjectPages
from events.admin.pageparts import BY_TIME, TIME, Column, View, sorted_rows
from events.api.filters import ProxyFilterSet, StreamFilterSet
from events.api.pagination import ProxyPageForm
from events.api.queries import require_valid
from events.api.streams import ProxyEntriesView
from events.keyset import Page
from events.models import ProxyEntry
from events.vocabulary import METHODS
from meshmgmt.adminsite.look import instant
from meshmgmt.core import clock

_PATH_SHOWN: Final = 60
_RECENT: Final = 1000
"""How many of the newest entries suggest what to filter by."""


def methods() -> dict[str, str]:
    """Return the usual methods; finding those in use would read the whole stream."""
    return {method: "" for method in sorted(METHODS) if method}


def recent(column: str, label: str = "") -> dict[str, str]:
    """Return the values of a column in the newest entries, with what goes by each."""
    newest = ProxyEntry.objects.order_by("-timestamp", "-id")
    found = set(newest.values_list(column, label or column)[:_RECENT])
    return {key: shown if label else "" for key, shown in sorted(found) if key}


@admin.register(ProxyEntry)
class ProxyEntryAdmin(Explorer):
    """Who is hammering that service."""

    filterset_class = ProxyFilterSet
    api_view = ProxyEntriesView
    summary_url_name = "proxy-summary"
    columns = (
        Column(TIME.name, TIME.label, BY_TIME),
        Column("method", "Method", "method"),
        Column("host", "Host", "host"),
        Column("path", "Path", "path"),
        Column("status", "Status", "status_code"),
        Column("took", "ms", "duration"),
        Column("source", "Source address", "source_ip"),
        Column("user", "User", "user_id"),
        Column("reason", "Reason", "reason"),
    )
    filters = ("status_class", "host", "method", "path", "source_ip", "search")
    more_filters = (
        *("status", "status_code", "exact_path", "user_id", "service_id"),
        *("auth_method", "reason", "country_code"),
    )
    suggestions = {
        "method": methods,
        "host": partial(recent, "host"),
        "service_id": partial(recent, "service_id", "host"),
        "auth_method": partial(recent, "auth_method_used"),
        "reason": partial(recent, "reason"),
        "country_code": partial(recent, "country_code"),
    }
    named = {
        "host": Kinds("host"),
        "method": Kinds("method"),
        "source_ip": Kinds("peer or address", ("peer",), "ip"),
        "exact_path": Kinds("path"),
        "user_id": Kinds("user", ("user",)),
        "service_id": Kinds("service"),
        "auth_method": Kinds("way to sign in"),
        "reason": Kinds("reason"),
        "country_code": Kinds("country"),
    }

    def views(self) -> list[View]:
        today = {"start_date": clock.now().date().isoformat()}
        hosts = {"group_by": "host"}
        refused = {"status": "failed", "metric": "failures", "group_by": "source_ip"}
        return [
            View("5xx live, by host", {"status_class": "5xx", "live": "1"} | hosts),
            View("5xx today, by host", today | {"status_class": "5xx"} | hosts),
            View("Refused today, top addresses", today | refused),
            View(
                "Slowest of the last hour", {"start_date": "-1h", "sort_by": "duration"}
            ),
        ]

    def _read(self, request: HttpRequest, filters: StreamFilterSet) -> Page:
        """Return the rows, in the order that the API would give them."""
        form = ProxyPageForm(request.GET)
        require_valid(form, filters.form)
        if form.newest_first:
            return super()._read(request, filters)
        return sorted_rows(filters.qs, form.order, self.page_rows)

    def prepare(self, rows: list[Any]) -> None:
        """Look up what the users are called."""
        users = directory.users.only({row.user_id for row in rows} - {""})
        names = {user.id: user.name or user.email for user in users}
        for row in rows:
            # Of this page alone: the model declares no such attribute.
            vars(row)["user_name"] = names.get(row.user_id, "")

    def cells(self, row: ProxyEntry, here: Here) -> list[SafeString]:
        metadata = row.content.get("metadata") or {}
        peer = metadata.get("peer_name", "")
        path = Truncator(row.path).chars(_PATH_SHOWN)
        return [
            only(here, "method", row.method),
            only(here, "host", row.host),
            only(here, "exact_path", row.path, path),
            only(here, "status_code", row.status_code, str(row.status_code)),
            plain(str(row.duration_ms)),
            only(here, "source_ip", row.source_ip, peer, row.source_ip),
            only(here, "user_id", row.user_id, vars(row).get("user_name")),
            only(here, "reason", row.reason),
        ]

    def names(self, row: ProxyEntry) -> dict[str, str]:
        return {"user_id": vars(row)["user_name"]}

    def facts(self, row: ProxyEntry, pages: ObjectPages) -> list[Fact]:
        content = row.content
        place = (
            content.get(n) for n in ("city_name", "subdivision_code", "country_code")
        )
        metadata = content.get("metadata") or {}
        known = pages.of_ids({row.user_id, row.service_id, *mentioned_ids(metadata)})
        return [
            Fact("Time", instant(row.timestamp)),
            Fact("Request", joined(plain(row.method), plain(row.host + row.path))),
            Fact("Status", str(row.status_code or "")),
            Fact("Took", f"{row.duration_ms} ms"),
            Fact("Reason", plain(row.reason)),
            Fact("Source address", plain(row.source_ip)),
            Fact("Place", joined(*map(plain, place))),
            Fact("User", named(known, row.user_id)),
            Fact("Signed in by", plain(row.auth_method_used)),
            Fact("Service", named(known, row.service_id)),
            Fact("Protocol", plain(content.get("protocol"))),
            Fact("Uploaded", shown_size(row.bytes_upload)),
            Fact("Downloaded", shown_size(row.bytes_download)),
            Fact("Metadata", shown_value(metadata, known) if metadata else ""),
        ]

    def ways(self, row: ProxyEntry) -> dict[str, tuple[str, str]]:
        return {
            "all of this host": ("host", row.host),
            "all from this address": ("source_ip", row.source_ip),
            "all of this user": ("user_id", row.user_id),
        }
