"""What the audit trail can be filtered by."""

from fnmatch import fnmatchcase
from typing import Any, ClassVar

import django_filters
from django import forms
from django.db.models import Q

from events.activities import Activity
from events.api.filters import Rows, StreamFilterSet
from events.api.queries import TextFilter, since, until
from events.models import AuditEvent
from events.search import SHORTEST_INDEXED, fold


def expand_codes(patterns: list[str]) -> list[str]:
    """Return the activity codes that codes or patterns (`group.*`) name.

    Raises ValueError for one that names none.
    """
    codes: list[str] = []
    for pattern in patterns:
        found = [code for code in Activity.values if fnmatchcase(code, pattern)]
        # fnmatch knows more signs than are promised.
        if "*" not in pattern or "[" in pattern or "?" in pattern:
            found = [pattern] if pattern in Activity.values else []
        if not found:
            raise ValueError(
                f"{pattern[:80]!r} is no activity code, nor a pattern of any"
            )
        codes += found
    return codes


class CodesField(forms.Field):
    """Activity codes and patterns; the parameter may be repeated."""

    widget = forms.SelectMultiple

    def to_python(self, value: Any) -> list[str] | None:
        patterns = [text.strip().lower() for text in value or [] if text.strip()]
        if not patterns:
            return None
        try:
            return expand_codes(patterns)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error


class CodesFilter(django_filters.Filter):
    field_class = CodesField


class AuditFilterSet(StreamFilterSet):
    time_field = "timestamp"

    activity_code = CodesFilter(
        lookup_expr="in",
        help_text="A code or a pattern such as group.*; may be repeated",
    )
    initiator_id = TextFilter(help_text="Who did it")
    user_id = TextFilter(
        field_name="initiator_id", help_text="The same as initiator_id"
    )
    target_id = TextFilter(help_text="What it was done to")
    target_type = TextFilter(help_text="Kind of what it was done to, such as peer")
    group_id = TextFilter(
        method="of_group",
        help_text="A group: changes of it, and who or what came into it or left it",
    )
    source_address = TextFilter(help_text="Address that the request came from")
    search = TextFilter(help_text="Part of any text of the event")
    start_date = since("timestamp", "Not older (ISO 8601)")
    end_date = until("timestamp", "Not newer (ISO 8601)")

    class Meta:
        model = AuditEvent
        fields: ClassVar[list[str]] = []

    def of_group(self, queryset: Rows, name: str, group_id: str) -> Rows:
        """Keep events of or about a group; the search index narrows first."""
        if len(fold(group_id)) < SHORTEST_INDEXED:
            return queryset.none()  # no group has such an id
        about = Q(target_id=group_id) | Q(meta__group_id=group_id)
        return queryset.filter(about, search__holds=fold(group_id))
