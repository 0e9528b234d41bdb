"""Lists of the admin site: chosen columns, views that are kept, rows as a file."""

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import label_for_field, lookup_field
from django.contrib.admin.views.main import ERROR_FLAG, ChangeList
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import DataError, models
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.template.defaultfilters import capfirst
from django.utils.safestring import SafeString

from meshmgmt.adminsite.look import spelt
from meshmgmt.adminsite.models import SavedView
from meshmgmt.api.exports import export, pieces_of
from meshmgmt.core import clock
from meshmgmt.core.printable import printable
from meshmgmt.core.transactions import queued_write

CSV: Final = "csv"
JSON: Final = "json"
COLUMNS: Final = "columns"
_EXPORT: Final = "export"
_VIEW: Final = "view"
_PLACES: Final = ("p", "all", _EXPORT, _VIEW)
"""What says where in a list one is, or what is to be done with it: no part of a view."""
_AT_ONCE: Final = 500
_MOST_VIEWS: Final = 50
_LOOKUPS: Final = {"exact", "in", "isnull", "gt", "gte", "lt", "lte", "icontains"}
"""Those by which lists are filtered."""
_BELOW: Final = re.compile(r'<(?:span|time) class="below"[^>]*>|</div>(?=<)')
_TAG: Final = re.compile(r"<[^>]+>")


class ServiceList(ChangeList):
    """A list whose columns may be chosen by the address (`columns`)."""

    def __init__(
        self, request: HttpRequest, model: Any, list_display: Any, *args: Any
    ) -> None:
        pages = next(each for each in args if isinstance(each, ListAdmin))
        known = columns_of(list_display, model, pages)
        asked = request.GET.get(COLUMNS, "").split(",")
        chosen = {key for key in asked if key in known}
        self.choice = [  # the first column leads to the object, and stays
            (key, label, not chosen or key in chosen or not number)
            for number, (key, (_, label)) in enumerate(known.items())
        ]
        kept = {known[key][0] for key, _, is_shown in self.choice if is_shown}
        kept |= {"action_checkbox", *pages.tools}
        shown = [x for x in list_display if x in kept]
        self.views = list(saved_views(request, pages))
        super().__init__(request, model, shown, *args)
        self.files = {
            kind: self.get_query_string({_EXPORT: kind}) for kind in (CSV, JSON)
        }

    def get_filters_params(self, params: Any = None) -> Any:
        """Leave out what filters nothing."""
        found = super().get_filters_params(params)
        own = (COLUMNS, _EXPORT, _VIEW)
        return {name: value for name, value in found.items() if name not in own}

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """Return a link here; to all rows, where the bare address has a default view."""
        changes = {_EXPORT: None, _VIEW: None, **(new_params or {})}
        link = super().get_query_string(changes, remove)
        # The bare address leads to the default view.
        bare = link == "?" and any(view.is_default for view in self.views)
        return f"?{_VIEW}=all" if bare else link

    def get_results(self, request: HttpRequest) -> None:
        """Read the page, and what columns show of its rows."""
        try:
            super().get_results(request)
            self.result_list: Any = list(self.result_list)
        # A value of a filter that the database has no room for.
        except (DataError, OverflowError) as error:
            raise IncorrectLookupParameters from error
        self.complete(request, self.result_list)

    def complete(self, request: HttpRequest, shown: list[Any]) -> None:
        """Add to rows what is read for all of them at once; a subclass does."""

    def every_row(self, request: HttpRequest) -> Iterator[dict[str, Any]]:
        """Yield what the columns show of all rows, by the order of their keys.

        Rows are read in pieces, each by a query of its own, so that memory stays flat and
        a slow reader holds no cursor open. They are marked as `in_file`, where a column
        shows all that a page shows the first of.
        """
        pages = self.model_admin
        known = columns_of(self.list_display, self.model, pages)
        ordered = self.queryset.order_by("pk")
        piece = list(ordered[:_AT_ONCE])
        while piece:
            self.complete(request, piece)
            for row in piece:
                row.in_file = True
                cells = {key: _cell(x, row, pages) for key, (x, _) in known.items()}
                yield {"id": row.pk, **cells}
            # By key, not by offset: rows may come and go while the file is sent.
            piece = list(ordered.filter(pk__gt=piece[-1].pk)[:_AT_ONCE])


class ListAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not at run time
    """Pages with such a list."""

    # Else each filtered list would count all rows, too.
    show_full_result_count = False
    list_per_page = 50
    tools: tuple[str, ...] = ()
    """Columns that are there to be clicked: they stand in no file."""
    keeps_views = True
    list_class: type[ServiceList] = ServiceList

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Allow filters by columns that the list shows, searches or filters by.

        Django allows all columns of the model: `?hash__startswith=` would tell what is
        hidden, a character at a time. Its rarer lookups (`range`, `regex`) fail with a
        value that is none.
        """
        name, *further = lookup.split(LOOKUP_SEP)
        # A filter of its own may be called as a column, of which it tells what it likes.
        filters = [getattr(x, "parameter_name", x) for x in self.list_filter]
        known = (*self.list_display, *filters, *self.search_fields)
        shown = {
            x.lstrip("=").split(LOOKUP_SEP)[0] for x in known if isinstance(x, str)
        }
        hidden = {
            called
            for field in self.opts.get_fields()
            if field.name not in {*shown, "id"}
            for called in (field.name, getattr(field, "attname", field.name))
        }
        if name in hidden or not _LOOKUPS.issuperset(further[-1:]):
            return False
        return super().lookup_allowed(lookup, value, request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ServiceList]:
        """Return the class of the list."""
        return self.list_class

    def changelist_view(
        self, request: HttpRequest, extra_context: Any = None
    ) -> HttpResponse:
        """Show the list, give its rows as a file, or keep how it is looked at."""
        columns = request.GET.getlist(COLUMNS)
        # The form sends a parameter for each box; links have them in one.
        if len(columns) > 1:
            query = request.GET.copy()
            query[COLUMNS] = ",".join(columns)
            return HttpResponseRedirect(f"?{query.urlencode()}")
        if request.method == "POST" and {"keep_view", "drop_view"} & {*request.POST}:
            return self._keep(request)
        if request.GET.get(_EXPORT) in {CSV, JSON}:
            answer: HttpResponse = self._export(request, request.GET[_EXPORT])
            return answer
        # Any parameter, were it `view` alone, says that the bare list is not meant.
        if request.method == "GET" and not request.GET:
            for view in saved_views(request, self):
                if view.is_default and view.query:
                    return HttpResponseRedirect(f"?{view.query}")
        page: HttpResponse = super().changelist_view(request, extra_context)
        return page

    def _export(self, request: HttpRequest, kind: str) -> Any:
        if not self.has_view_permission(request):
            raise PermissionDenied
        try:
            rows: Any = self.get_changelist_instance(request)
        # As Django's own list does, which says so on the page.
        except IncorrectLookupParameters:
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")
        fields = ("id", *columns_of(rows.list_display, self.model, self))
        pieces = pieces_of(kind, fields, rows.every_row(request))
        return export(str(self.opts.model_name), kind, pieces)

    def _keep(self, request: HttpRequest) -> HttpResponse:
        """Keep or drop a view of the viewer's own."""
        if not self.has_view_permission(request) or not self.keeps_views:
            raise PermissionDenied
        mine: Any = {"user_id": request.user.pk, "list": self.opts.label_lower}
        # Stored: a NUL, for one, is refused by PostgreSQL.
        name = printable(request.POST.get("name", "").strip())[:100]
        views = SavedView.objects.filter(**mine)
        if dropped := request.POST.get("drop_view"):
            views.filter(name=dropped).delete()
        elif not name or views.exclude(name=name).count() >= _MOST_VIEWS:
            text = f"A view needs a name, and there may be {_MOST_VIEWS} of a list."
            self.message_user(request, text, messages.ERROR)
        else:
            is_default = "is_default" in request.POST
            facts = {"query": _query_of(request.GET), "is_default": is_default}
            with queued_write():
                people = get_user_model().objects.select_for_update()
                # One at a time: whoever else makes a default is not seen until it is kept.
                people.get(pk=request.user.pk)
                if is_default:
                    # First the old one: a constraint allows a single default.
                    views.update(is_default=False)
                SavedView.objects.update_or_create(**mine, name=name, defaults=facts)
            self.message_user(request, f"Kept the view “{name}”.", messages.SUCCESS)
        query = request.GET.urlencode()
        return HttpResponseRedirect(f"?{query or f'{_VIEW}=all'}")


def saved_views(request: HttpRequest, pages: Any) -> models.QuerySet[SavedView]:
    """Return the views of a list that the viewer keeps."""
    if not pages.keeps_views:
        return SavedView.objects.none()
    mine: Any = {"user_id": request.user.pk, "list": pages.opts.label_lower}
    return SavedView.objects.filter(**mine).order_by("name")


def columns_of(
    list_display: Any, model: Any, pages: Any
) -> Mapping[str, tuple[Any, str]]:
    """Return column and label by a key that is made of the label."""
    found = {}
    for column in list_display:
        if column != "action_checkbox" and column not in pages.tools:
            label = spelt(capfirst(str(label_for_field(column, model, pages))))
            key = "_".join(re.findall(r"\w+", label.lower()))
            found[key] = (column, label)
    return found


def is_in_file(row: Any) -> bool:
    """Tell whether a row is written into a file, not onto a page."""
    return getattr(row, "in_file", False)


def _query_of(sent: QueryDict) -> str:
    kept = sent.copy()
    for name in _PLACES:
        kept.pop(name, None)
    return kept.urlencode()


def _cell(column: Any, row: Any, pages: Any) -> Any:
    """Return what a column shows of a row: a value of JSON, markup as its text."""
    field, _, value = lookup_field(column, row, pages)
    if isinstance(field, models.ForeignKey):
        value = value and str(value)
    if isinstance(value, SafeString):
        text = unescape(_TAG.sub(" ", _BELOW.sub("; ", value)))
        return re.sub(r" (?=[,.:;])", "", " ".join(text.split())).strip("; ")
    if isinstance(value, dt.datetime):
        return clock.rfc3339(value)
    return value if value is None or isinstance(value, bool | int) else str(value)
