"""Summaries of the three streams: top groups and their time series."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

from django import forms
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.response import Response

from events.api.audit import AuditFilterSet
from events.api.filters import ProxyFilterSet, StreamFilterSet, TrafficFilterSet
from events.api.queries import EnumField, WholeNumberField, parameters_of, require_valid
from events.api.serializers import SummarySerializer
from events.streams.hours import DAY, HOUR, INSTANT, whole_hours
from events.streams.subjects import Subject
from events.streams.summaries import (
    MAX_BUCKETS,
    MAX_GROUP_FIELDS,
    Question,
    summarise,
    sums_answer,
)
from meshmgmt.api.views import ApiView
from meshmgmt.core import clock
from meshmgmt.core.durations import UNITS
from meshmgmt.core.errors import BadRequest

DEFAULT_SPAN: Final = timedelta(days=1)
EARLIEST: Final = datetime.min.replace(tzinfo=UTC)
DEFAULT_LIMIT: Final = 10
MAX_LIMIT: Final = 100
WISHED_BUCKETS: Final = 60
FINE_SPAN: Final = 3 * HOUR
"""Seconds whose events are few enough to be read where sums could answer."""

_FINE: Final = (60, 300, 900)
_WHOLE: Final = (HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY)
_BUCKET: Final = re.compile(r"([1-9][0-9]{0,5})([smhd])")


class BucketField(forms.Field):
    """A width such as `5m`; returns seconds."""

    def to_python(self, value: Any) -> int | None:
        if value in self.empty_values:
            return None
        match = _BUCKET.fullmatch(value.lower())
        if match is None:
            raise forms.ValidationError("must be a number with s, m, h or d, as in 5m")
        return int(match[1]) * UNITS[match[2]]


class GroupField(forms.Field):
    """One to three names, separated by commas or in parameters of their own."""

    widget = forms.SelectMultiple

    def __init__(self, *, names: list[str], **extra: Any) -> None:
        super().__init__(**extra)
        self.names = names

    def to_python(self, value: Any) -> tuple[str, ...]:
        texts = value or ()
        given = [word.strip().lower() for text in texts for word in text.split(",")]
        words = tuple(dict.fromkeys(word for word in given if word))
        if not words:
            return (self.names[0],)
        if len(words) > MAX_GROUP_FIELDS or not set(words) <= set(self.names):
            raise forms.ValidationError(
                f"must be 1 to {MAX_GROUP_FIELDS} of {', '.join(self.names)}"
            )
        return words


class SummaryForm(forms.Form):
    """Parameters of a summary beside the stream's filters."""

    def __init__(self, subject: Subject, *args: Any) -> None:
        super().__init__(*args)
        self.subject = subject
        names = list(subject.groups)
        self.fields["group_by"] = GroupField(
            names=names,
            required=False,
            help_text=f"Comma-separated or repeated: {', '.join(names)}",
        )
        self.fields["metric"] = EnumField(
            words={name: name for name in subject.metrics}, required=False
        )
        self.fields["bucket"] = BucketField(
            required=False,
            help_text="Width of the time series' buckets, such as 5m. Default: an hour or"
            " more where kept sums answer, but for at most three hours that do not begin"
            " and end on the hour; some sixty buckets elsewhere",
        )
        self.fields["limit"] = WholeNumberField(low=1, top=MAX_LIMIT, required=False)

    def question(self, dates: Mapping[str, Any], asked: Mapping[str, Any]) -> Question:
        """Return what is asked, beside other filters that are `asked`.

        Raises BadRequest for too many buckets.
        """
        start, end = dates["start_date"], dates["end_date"]
        last = end or clock.now()
        # An end in the year 1 has no day before it.
        first = start or last - min(DEFAULT_SPAN, last - EARLIEST)
        # Equal ends are an instant, which some bucket must hold.
        span = max((last - first).total_seconds(), 1.0)
        group_by = self.cleaned_data["group_by"]
        summed = sums_answer(self.subject, group_by, asked) is not None
        chosen = self.cleaned_data["bucket"]
        seconds = chosen or _nice_width(first, last, summed=summed)
        if span / seconds > MAX_BUCKETS:
            text = f"bucket: gives more than {MAX_BUCKETS} buckets"
            raise BadRequest.about("bucket", text)
        return Question(
            group_by=group_by,
            metric=self.cleaned_data["metric"] or next(iter(self.subject.metrics)),
            bucket_seconds=seconds,
            start=first,
            end=last,
            limit=self.cleaned_data["limit"] or DEFAULT_LIMIT,
        )


def _nice_width(first: datetime, last: datetime, *, summed: bool) -> int:
    """Return the width of buckets that nobody chose; sums have none below an hour."""
    # Without its fraction: -3h is counted back from a moment before now.
    span = int((last - first).total_seconds())
    by_sums = summed and (span > FINE_SPAN or _are_whole_hours(first, last))
    for seconds in _WHOLE if by_sums else (*_FINE, *_WHOLE):
        if span / seconds <= WISHED_BUCKETS:
            return seconds
    return DAY * round(span / DAY / WISHED_BUCKETS)


def _are_whole_hours(first: datetime, last: datetime) -> bool:
    """Tell whether both are such, or the last instant before one ends the span."""
    hours = whole_hours(first, last)
    return hours is not None and first == hours.first and last - hours.last <= INSTANT


class SummaryView(ApiView):
    """Adds a stream up; without dates the last 24 hours."""

    module = "events"
    reads_long = True
    serializer_class = SummarySerializer
    filterset_class: ClassVar[type[StreamFilterSet]]

    def __init_subclass__(cls) -> None:
        """Document the parameters."""
        super().__init_subclass__()
        form = partial(SummaryForm, cls.filterset_class.subject)
        asked = extend_schema(parameters=parameters_of(form, cls.filterset_class))
        extend_schema_view(get=asked)(cls)

    def get(self, request: Request) -> Response:
        """Return the biggest groups and their time series."""
        filters = self.filterset_class(request.query_params)
        form = SummaryForm(filters.subject, request.query_params)
        require_valid(form, filters.form)
        dates = filters.form.cleaned_data
        question = form.question(dates, filters.undated)
        answer = summarise(filters.subject, filters.qs, filters.undated, question)
        return Response(answer)


class TrafficSummaryView(SummaryView):
    """Top talkers and drops of the network traffic."""

    filterset_class = TrafficFilterSet


class ProxySummaryView(SummaryView):
    """Top hosts, sources and denials of the proxy access logs."""

    filterset_class = ProxyFilterSet


class AuditSummaryView(SummaryView):
    """Who changed the most, and what."""

    filterset_class = AuditFilterSet
