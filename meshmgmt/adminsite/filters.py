"""Filters of the admin site's lists by conditions that have a name."""

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from meshmgmt.core import clock

SOON: Final = dt.timedelta(days=7)
"""How long before its end something good for long counts as about to end."""


class StateFilter(admin.SimpleListFilter):
    """Rows in one of several states."""

    title = "state"
    parameter_name = "state"

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the condition of each state, by its name; `_` stands for a blank."""
        raise NotImplementedError

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Offer the states."""
        return [(name, name.replace("_", " ")) for name in self.states()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Keep the rows in the chosen state."""
        condition = self.states().get(self.value() or "")
        return queryset if condition is None else queryset.filter(condition)


class EndFilter(StateFilter):
    """What is good until its `expires_at`; without one, for ever."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states; what is about to end is also valid."""
        now = clock.now()
        return {
            "valid": Q(expires_at=None) | Q(expires_at__gt=now),
            "about_to_end": Q(expires_at__gt=now, expires_at__lte=now + SOON),
            "expired": Q(expires_at__lte=now),
        }
