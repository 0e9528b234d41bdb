"""What the two big streams can be filtered by (seed, Events; decisions, Events)."""

from typing import Any, ClassVar

import django_filters
from django import forms
from django.db.models import Q, QuerySet
from django.http.response import HttpResponseBase
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.request import Request

from events import directory
from events.api.queries import (
    EnumFilter,
    TextFilter,
    WholeNumberFilter,
    require_valid,
    since,
    until,
)
from events.search import SHORT_SEARCH_ROWS, SHORTEST_INDEXED, fold
from events.streams.subjects import PROXY_SUBJECT, SUCCESS, TRAFFIC_SUBJECT, Subject
from events.vocabulary import CONNECTIONS, DIRECTIONS, KIND_BITS, METHODS
from meshmgmt.core.addresses import canonical_address

Rows = QuerySet[Any]


class StreamFilterSet(django_filters.FilterSet):
    """Filters of a stream, applied to its events or to its tallies.

    `tally_filters` names those that use columns of the tallies alone: their totals need
    no counting of events. `text_filters` names those that look for parts of texts.
    """

    tally_filters: ClassVar[frozenset[str]] = frozenset()
    text_filters: ClassVar[frozenset[str]] = frozenset({"search"})
    subject: ClassVar[Subject]

    def __init__(self, data: Any = None, queryset: Any = None, **options: Any) -> None:
        """Filter events of the stream; where no rows are given, all of them."""
        if queryset is None:
            queryset = self.subject.model._default_manager.all()
        super().__init__(data, queryset, **options)

    @property
    def active(self) -> frozenset[str]:
        values = self.form.cleaned_data.items()
        # Not what is falsy: a filter may mean False, or 0.
        return frozenset(name for name, value in values if value not in (None, "", []))

    @property
    def undated(self) -> dict[str, Any]:
        """Filters in use with their values, those by time left out."""
        names = self.active - {"start_date", "end_date"}
        return {name: self.form.cleaned_data[name] for name in names}

    @property
    def on_tallies(self) -> bool:
        """Whether the tallies alone can tell how many events match."""
        return self.active <= self.tally_filters

    @property
    def searches(self) -> bool:
        """Whether events are looked for by parts of texts."""
        return bool(self.active & self.text_filters)

    @property
    def short_search(self) -> bool:
        """Whether the search text is too short for the trigram index."""
        text = fold(self.form.cleaned_data.get("search") or "")
        return bool(text) and len(text) < SHORTEST_INDEXED

    def tell_scope(self, response: HttpResponseBase) -> None:
        """Say in a header how far a short search looked."""
        if self.short_search:
            response["X-Search-Scope"] = f"newest-{SHORT_SEARCH_ROWS}"

    def filter_queryset(self, queryset: Rows) -> Rows:
        """Apply all filters, the search last: a short one looks at few rows only."""
        values = dict(self.form.cleaned_data)
        text = fold(values.pop("search", None) or "")
        for name, value in values.items():
            queryset = self.filters[name].filter(queryset, value)
        if not text:
            return queryset
        if self.short_search:
            # Every row would have to be read, so only so many are.
            newest = queryset.order_by(f"-{self.subject.time_field}", "-id")
            queryset = queryset.model._default_manager.filter(
                id__in=newest.values("id")[:SHORT_SEARCH_ROWS]
            )
        return queryset.filter(self.search_condition(text))

    def search_condition(self, text: str) -> Q:
        """Return what it means that an event holds the folded text."""
        return Q(search__holds=text)


class StreamFilterBackend(DjangoFilterBackend):
    """Applies a view's filter set, whose parameters and those of the page are right."""

    def filter_queryset(self, request: Request, queryset: Rows, view: Any) -> Rows:
        """Return what matches. Raises BadRequest naming every wrong parameter."""
        filterset: StreamFilterSet = self.get_filterset(request, queryset, view)
        view.filterset = filterset
        # Both forms before either is refused: all that is wrong is told at once.
        view.paginator.form = view.page_form(request.query_params)
        require_valid(view.paginator.form, filterset.form)
        matching: Rows = filterset.qs
        return matching


class TrafficFilterSet(StreamFilterSet):
    tally_filters = frozenset({"protocol", "type", "connection_type", "direction"})
    subject = TRAFFIC_SUBJECT

    user_id = TextFilter(help_text="Id of the user")
    reporter_id = TextFilter(help_text="Id of the reporting peer")
    source_id = TextFilter(help_text="Id of the source")
    destination_id = TextFilter(help_text="Id of the destination")
    source = TextFilter(
        method="of_end", help_text="Id of the source, its address if it has no id"
    )
    destination = TextFilter(
        method="of_end", help_text="Id of the destination, its address if it has no id"
    )
    policy_id = TextFilter(help_text="Id of the policy")
    protocol = WholeNumberFilter(
        high=255, help_text="IP protocol: 1 = ICMP, 6 = TCP, 17 = UDP"
    )
    type = EnumFilter(
        words=KIND_BITS,
        method="of_type",
        help_text="Flows with an event of this type, or counted as such",
    )
    connection_type = EnumFilter(
        words={word: number for number, word in enumerate(CONNECTIONS)},
        help_text="Between peers, or through a routing peer",
    )
    direction = EnumFilter(
        words={word: number for number, word in enumerate(DIRECTIONS)},
        help_text="As the reporter saw it",
    )
    search = TextFilter(
        help_text="Part of a user's e-mail, or of a name or address of either end"
    )
    start_date = since("time", "Not older than this (ISO 8601)")
    end_date = until("time", "Not newer than this (ISO 8601)")

    def of_end(self, queryset: Rows, name: str, key: str) -> Rows:
        """Keep flows with an end that summaries know by this key."""
        return queryset.filter(self.subject.indexed[name]([key]))

    def of_type(self, queryset: Rows, name: str, bit: int) -> Rows:
        """Keep events whose bits include `bit`, spelt as an index can serve it."""
        every = 1 << len(KIND_BITS)
        return queryset.filter(kinds__in=[bits for bits in range(every) if bits & bit])


class AddressField(forms.CharField):
    """An IP address in any of its spellings."""

    def to_python(self, value: Any) -> str:
        text = super().to_python(value) or ""
        if not text:
            return ""
        try:
            return canonical_address(text)
        except ValueError as error:
            raise forms.ValidationError("must be an IP address") from error


class AddressFilter(django_filters.CharFilter):
    field_class = AddressField


class ProxyFilterSet(StreamFilterSet):
    tally_filters = frozenset({"method", "status", "status_class", "status_code"})
    text_filters = frozenset({"search", "path", "exact_path"})
    subject = PROXY_SUBJECT

    host = TextFilter(help_text="The Host header, exactly")
    method = TextFilter(method="of_method", help_text="The HTTP method")
    status_code = WholeNumberFilter(
        high=999, help_text="The HTTP status; 0 for TCP, UDP"
    )
    status = EnumFilter(
        words={"success": True, "failed": False},
        method="of_status",
        help_text="success = 200 to 399, failed = everything else",
    )
    status_class = EnumFilter(
        words={f"{hundreds}xx": 100 * hundreds for hundreds in range(1, 6)},
        method="of_class",
        help_text="5xx = 500 to 599, and so on",
    )
    source_ip = AddressFilter(help_text="The client's IP address")
    path = TextFilter(
        method="of_path", help_text="Part of the path, letter case counts"
    )
    exact_path = TextFilter(method="of_exact_path", help_text="The whole path")
    service_id = TextFilter(help_text="Id of the service")
    auth_method = TextFilter(
        field_name="auth_method_used", help_text="How the client proved who it is"
    )
    reason = TextFilter(help_text="Why the request was refused")
    country_code = TextFilter(help_text="Country of the client's address, such as DE")
    user_id = TextFilter(help_text="Id of the user")
    user_email = TextFilter(
        method="of_email", help_text="Part of the e-mail of any user"
    )
    user_name = TextFilter(method="of_name", help_text="Part of the name of any user")
    search = TextFilter(
        help_text="Part of id, source address, host and path, or of a user's name or e-mail"
    )
    start_date = since("timestamp", "Not older than this (RFC 3339)")
    end_date = until("timestamp", "Not newer than this (RFC 3339)")

    @property
    def on_tallies(self) -> bool:
        """Whether the tallies can tell; they do not know unusual methods apart."""
        method = self.form.cleaned_data["method"] or "GET"
        return super().on_tallies and {method, method.upper()} <= METHODS

    def of_method(self, queryset: Rows, name: str, method: str) -> Rows:
        """Keep entries of the method; proxies log methods in capitals."""
        # Two values, not upper() of the column, which tallies and indexes have as it is.
        return queryset.filter(method__in={method, method.upper()})

    def of_status(self, queryset: Rows, name: str, success: bool) -> Rows:
        return queryset.filter(SUCCESS if success else ~SUCCESS)

    def of_class(self, queryset: Rows, name: str, least: int) -> Rows:
        return queryset.filter(status_code__gte=least, status_code__lt=least + 100)

    def of_path(self, queryset: Rows, name: str, part: str) -> Rows:
        """Keep entries whose path contains `part`."""
        # The index is of folded texts, and letter case counts: it finds too many.
        return self._narrowed(queryset, part).filter(path__holds=part)

    def of_exact_path(self, queryset: Rows, name: str, path: str) -> Rows:
        return self._narrowed(queryset, path).filter(path=path)

    def _narrowed(self, queryset: Rows, text: str) -> Rows:
        """Let the search index find what may hold a text, if it can."""
        if len(fold(text)) < SHORTEST_INDEXED:
            return queryset
        return queryset.filter(search__holds=fold(text))

    def of_email(self, queryset: Rows, name: str, part: str) -> Rows:
        # Entries hold the ids of users alone: their names change.
        return queryset.filter(user_id__among=directory.find_users.only(fold(part), ""))

    def of_name(self, queryset: Rows, name: str, part: str) -> Rows:
        return queryset.filter(user_id__among=directory.find_users.only("", fold(part)))

    def search_condition(self, text: str) -> Q:
        """Return the entry's own text, or a user whose e-mail or name contains it."""
        users = {
            *directory.find_users.only(text, ""),
            *directory.find_users.only("", text),
        }
        return super().search_condition(text) | Q(user_id__among=users)
