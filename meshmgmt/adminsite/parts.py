"""Rows of an object on its page, a part of them at a time."""

import re
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db.models import Q
from django.forms.models import BaseInlineFormSet
from django.forms.utils import pretty_name
from django.http import HttpRequest

from meshmgmt.adminsite import stale

GONE: Final = (
    "somebody else removed it meanwhile: mark it to be deleted, and save again"
)


class PartFormSet(BaseInlineFormSet):  # type: ignore[type-arg]  # not at run time
    """Rows of an object of which the page shows a part, `size` of them.

    `part` counts from 1, `search` is looked for in the columns `searched`. What comes back
    is about the rows that were shown, whatever others added or removed meanwhile.
    """

    size = 75
    searched: tuple[str, ...] = ()
    total = 0
    """How many rows the object has, or the search finds, on all pages."""

    def __init__(
        self, *args: Any, part: int = 1, search: str = "", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.part = part
        self.search = search

    @property
    def parts(self) -> range:
        """The numbers of all parts."""
        return range(1, max(1, -(-self.total // self.size)) + 1)

    def get_queryset(self) -> Any:
        """Return the rows that the page shows, or showed."""
        if not hasattr(self, "_shown"):
            rows = super().get_queryset()
            if self.is_bound:
                # Django bounds the number of forms alone, not that of the rows before.
                numbers = range(min(self.initial_form_count(), self.absolute_max))
                # The rows that were shown: the same part may hold others by now.
                keys = [self.data.get(f"{self.add_prefix(i)}-id", "") for i in numbers]
                self._shown = list(rows.filter(pk__in=keys))
                return self._shown
            found = (Q((f"{x}__icontains", self.search)) for x in self.searched)
            rows = rows.filter(reduce(or_, found, Q())) if self.search else rows
            self.total = rows.count()
            self.part = min(self.part, len(self.parts))
            start = (self.part - 1) * self.size
            self._shown = list(rows[start : start + self.size])
        return self._shown

    def full_clean(self) -> None:
        """Check the rows; say of one that was changed here what became of it."""
        super().full_clean()
        for form in self.forms if self.is_bound else ():
            if form.errors.get("id") and not self._should_delete_form(form):
                form.add_error(None, GONE)

    def _should_delete_form(self, form: Any) -> bool:
        """Let a row go that somebody else removed, unless it was changed here."""
        sent = self.data.get(form.add_prefix("seen"), "")
        return bool(
            super()._should_delete_form(form)  # type: ignore[misc]  # no stub
            or (form.errors.get("id") and stale.untouched(form, sent))
        )

    def add_fields(self, form: Any, index: int | None) -> None:
        """Name every field, for the columns' names are not theirs."""
        super().add_fields(form, index)
        for name, field in form.fields.items():
            field.widget.attrs["aria-label"] = field.label or pretty_name(name)


def part_asked(request: HttpRequest) -> dict[str, Any]:
    """Return which part of an object's rows an address asks for, and by which search."""
    asked = request.GET.get("part", "")
    part = int(asked) if re.fullmatch("[1-9][0-9]{0,5}", asked) else 1
    # PostgreSQL refuses NUL bytes in a text.
    return {"part": part, "search": request.GET.get("q", "").replace("\0", "").strip()}
