"""What the three explorers share: pages made by the filters of the API."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import orjson
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from events.admin.cells import Fact, joined, json_block, present
from events.admin.here import Here, link_to
from events.admin.inputs import (
    Suggestions,
    chips,
    inputs,
    label_of,
    shown_word,
    span_of,
)
from events.admin.names import Kinds, Names, Unclear, meant, suggestions
from events.admin.objectpages import ObjectPages
from events.admin.pageparts import ORDER, Column, View, heading, read_rows
from events.api.filters import StreamFilterSet
from events.api.queries import TextField, require_valid
from events.keyset import Page
from meshmgmt.adminsite import home
from meshmgmt.adminsite.look import moment
from meshmgmt.adminsite.menu import name_of
from meshmgmt.adminsite.pages import refused
from meshmgmt.api.exports import RENDERERS
from meshmgmt.api.views import ApiView
from meshmgmt.core.errors import BadRequest


class Explorer(admin.ModelAdmin):  # type: ignore[type-arg]  # not at run time
    """Lists, charts, follows and exports a stream; changes nothing.

    A subclass gives the API's views and filters, its columns with `cells`, and `facts`.
    """

    page_rows = 100
    actions = None
    change_form_template = "admin/events/event.html"
    # Django makes a form for the page of a row, which shows none: as small as can be.
    fields = readonly_fields = ("id",)
    filterset_class: ClassVar[type[StreamFilterSet]]
    api_view: ClassVar[type[ApiView]]
    summary_url_name: ClassVar[str]
    columns: ClassVar[tuple[Column, ...]]
    filters: ClassVar[tuple[str, ...]]
    more_filters: ClassVar[tuple[str, ...]]
    suggestions: ClassVar[Suggestions] = {}
    named: ClassVar[Mapping[str, Kinds]]
    """By filter that compares whole values: what may be typed for one."""

    def views(self) -> list[View]:
        """Return the questions that are asked often."""
        raise NotImplementedError

    def cells(self, row: Any, here: Here) -> list[SafeString]:
        """Return what the list shows of a row beside its time."""
        raise NotImplementedError

    def names(self, row: Any) -> dict[str, str]:
        """Return what people call the ids in a row, by filter."""
        raise NotImplementedError

    def facts(self, row: Any, pages: ObjectPages) -> list[Fact]:
        """Return what the page of a row tells, as far as there is anything to tell."""
        raise NotImplementedError

    def ways(self, row: Any) -> dict[str, tuple[str, str]]:
        """Return what leads from a row to others: by text, the filter and its value."""
        raise NotImplementedError

    def see_also(self, request: HttpRequest, row: Any) -> SafeString:
        """Return links to the lists that lead on from a row."""
        return joined(
            *(
                format_html(
                    '<a href="{}">{}</a>',
                    home.list_url(self.model, {name: value}),
                    text,
                )
                for text, (name, value) in self.ways(row).items()
                if value
            )
        )

    def raw(self, row: Any) -> dict[str, Any]:
        """Return a row as clients of the API get it."""
        content: dict[str, Any] = row.content
        return content

    def prepare(self, rows: list[Any]) -> None:
        """Look up what `cells` needs, for all rows at once."""

    has_add_permission = has_change_permission = has_delete_permission = refused

    def get_urls(self) -> list[Any]:
        """Add the exports to the admin site's own pages."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        view = self.admin_site.admin_view(self.export_view)
        exports = [
            path(f"export.{kind}", view, {"kind": kind}, f"{name}_{kind}")
            for kind in RENDERERS
        ]
        return [
            *exports,
            path("names/", self.admin_site.admin_view(self.names_view)),
            *super().get_urls(),
        ]

    def names_view(self, request: HttpRequest) -> HttpResponse:
        """Answer what may be meant by the beginning of a word in a filter."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return suggestions(request, self.named.get(request.GET.get("filter", "")))

    def export_view(self, request: HttpRequest, kind: str) -> HttpResponseBase:
        """Return what the API exports for the same filters, to whoever is signed in."""
        # The view itself asks who may: a session signs in to the API as well.
        view = self.api_view.as_view(renderer_classes=[RENDERERS[kind]])
        answer: HttpResponseBase = view(request)
        return answer

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list, or its newest rows alone to a page that follows them."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        here = Here(request.GET)
        query, errors = self._meant(request, here)
        # Addresses hold ids: they mean the same when the object has another name.
        if query != request.GET and not errors:
            return HttpResponseRedirect(f"?{query.urlencode()}")
        filters = self.filterset_class(request.GET, self.get_queryset(request))
        live = request.GET.get("fragment") == "rows"
        page = Page([])
        try:
            if not errors:
                page = self._read(request, filters)
        except BadRequest as error:
            errors = [fault.message for fault in error.errors]
        context: dict[str, Any] = {"rows": list(self._rows(page, here))}
        if live:
            template = "admin/events/includes/newest.html"
            context["explorer"] = {"older": _older(page, here)}
        else:
            template = "admin/events/explorer.html"
            context |= self._context(request, filters, here, page)
        context |= {"errors": errors, **(extra_context or {})}
        return TemplateResponse(request, template, context)

    def _meant(self, request: HttpRequest, here: Here) -> tuple[QueryDict, list[Any]]:
        """Return the query with values in place of names, and what is unclear in it."""
        query, names = request.GET.copy(), Names(request)
        errors: list[Any] = []
        # Several faults are told together.
        for name in self.named.keys() & query.keys():
            kinds = self.named[name]
            options = self.suggestions.get(name, dict)()
            is_there = partial(self._is_there, request, name)
            try:
                values = [
                    meant(names, kinds, word, options, is_there) if word else ""
                    for word in query.getlist(name)
                ]
            except Unclear as error:
                errors.append(error.shown(name, label_of(name), here))
            else:
                query.setlist(name, values)
        return query, errors

    def _is_there(self, request: HttpRequest, name: str, value: str) -> bool:
        """Tell whether a filter's own words have it, of plain texts whether any event."""
        query = QueryDict(urlencode({name: value}))
        filters = self.filterset_class(query, self.get_queryset(request))
        if not filters.form.is_valid():
            return False
        plain = isinstance(filters.form.fields[name], TextField)
        return not plain or bool(filters.qs.order_by().exists())

    def _called(self, request: HttpRequest, here: Here) -> dict[str, str]:
        """Return, for each filter that takes names, that of its value, "" without one."""
        names = Names(request)
        return {
            name: next((names.called(kinds, key) for key in here.values(name)), "")
            for name, kinds in self.named.items()
            if kinds.kinds
        }

    def _read(self, request: HttpRequest, filters: StreamFilterSet) -> Page:
        """Return the rows. Raises BadRequest naming every wrong parameter."""
        require_valid(filters.form)
        cursor = request.GET.get("cursor", "")
        # As long as all texts of the row together, and never shown.
        rows = filters.qs.defer("search")
        return read_rows(rows, filters.subject.time_field, self.page_rows, cursor)

    def _rows(self, page: Page, here: Here) -> Iterator[dict[str, Any]]:
        """Yield the key of each row, and its cells with their columns."""
        self.prepare(list(page.rows))
        for row in page.rows:
            cells = [self._time_cell(row), *self.cells(row, here)]
            shown = list(zip(self.columns, cells, strict=True))
            yield {"key": str(row.pk), "cells": shown}

    def _time_cell(self, row: Any) -> SafeString:
        """Return the time of a row, which leads to its page."""
        shown = moment(getattr(row, self.filterset_class.subject.time_field))
        return format_html('<a href="{}">{}</a>', home.object_url(row), shown)

    def _context(
        self, request: HttpRequest, filters: StreamFilterSet, here: Here, page: Page
    ) -> dict[str, Any]:
        return {
            **self.admin_site.each_context(request),
            "title": name_of(self.opts.label_lower),
            "opts": self.opts,
            "explorer": self._controls(request, filters, here, page),
            "chart": {
                "url": reverse(self.summary_url_name),
                "groups": list(filters.subject.groups),
                "metrics": {name: shown_word(name) for name in filters.subject.metrics},
                "oldest": self._oldest(request),
                "group": request.GET.get("group_by", ""),
                "metric": request.GET.get("metric", ""),
                "filters": orjson.dumps(filters.subject.filters).decode(),
            },
        }

    def _controls(
        self, request: HttpRequest, filters: StreamFilterSet, here: Here, page: Page
    ) -> dict[str, Any]:
        """Return what stands around the rows."""
        called = self._called(request, here)
        make = partial(
            inputs, filters, here, suggestions=self.suggestions, called=called
        )
        more = list(make(self.more_filters))
        ordered = bool(here.values("sort_by"))
        at_newest = not ordered and not request.GET.get("cursor")
        # What comes in is newer than a page of older rows.
        live = bool(here.values("live")) and at_newest
        # All rows share what the filters name, so one of them knows what it is called.
        named = self.names(page.rows[0]) if page.rows else {}
        names = {**called, **{key: name for key, name in named.items() if name}}
        return {
            "views": [
                (v.label, link_to(v.pairs), here.is_at(v.pairs)) for v in self.views()
            ],
            "span": span_of(here),
            "inputs": list(make(self.filters)),
            "more": more,
            "more_chosen": any(field["value"] for field in more),
            "chips": list(chips(filters, here, names)),
            "hidden": [pair for pair in here.pairs if pair[0] in ("live", *ORDER)],
            "live": live,
            "toggle": here.with_(live="" if live else "1"),
            "newer": here.with_(cursor=str(page.newer)) if page.newer else "",
            "older": _older(page, here),
            "newest": link_to(here.pairs),
            "exports": self._exports(filters, here),
            "headings": [heading(column, here) for column in self.columns],
            "sorted": ordered,
        }

    def _oldest(self, request: HttpRequest) -> str:
        """Return the time of the first event, where "any time" begins."""
        time = self.filterset_class.subject.time_field
        times = self.get_queryset(request).order_by(time).values_list(time, flat=True)
        first = times.first()
        return first.isoformat() if first else ""

    def _exports(self, filters: StreamFilterSet, here: Here) -> list[tuple[str, str]]:
        known = filters.form.fields
        query = link_to(pair for pair in here.pairs if pair[0] in known)
        return [
            (kind, home.page_url(self.model, f"export_{kind}") + query)
            for kind in RENDERERS
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show one row: what it tells, then its raw form."""
        row = context["original"]
        context |= {
            "title": str(self.opts.verbose_name).capitalize(),
            "facts": present(
                [
                    *self.facts(row, ObjectPages(request)),
                    Fact("See also", self.see_also(request, row)),
                ]
            ),
            "raw": json_block(self.raw(row)),
        }
        return super().render_change_form(request, context, *args, **kwargs)


def _older(page: Page, here: Here) -> str:
    return here.with_(cursor=str(page.older)) if page.older else ""
