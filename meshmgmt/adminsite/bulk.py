"""What is done with many chosen objects, or with one: one page says all of it before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import model_ngettext
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from meshmgmt.adminsite import home, trail
from meshmgmt.adminsite.site import page
from meshmgmt.core.errors import InvalidArgument, ServiceError
from meshmgmt.core.transactions import account_write

TEMPLATE: Final = "admin/bulk_confirmation.html"
MOST: Final = 500


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action of a list, and a page of each of its objects.

    `name` is also the verb that the search over everything knows; `done` is its
    participle. `apply` calls the service for one object, given the pages and the request;
    `applies` tells whether there is anything to do for one: others stay as they are.
    """

    name: str
    label: str
    done: str
    apply: Callable[[Any, HttpRequest, Any], object]
    applies: Callable[[Any], bool] = lambda row: True
    permission: str = "change"

    def is_allowed(self, pages: Any, request: HttpRequest) -> bool:
        """Tell whether the viewer may do this at all."""
        return bool(getattr(pages, f"has_{self.permission}_permission")(request))

    def run(
        self, pages: Any, request: HttpRequest, chosen: QuerySet[Any]
    ) -> HttpResponse | None:
        """Show what would happen; once that is confirmed, do it and return None.

        All or nothing: raises what the service refuses, and InvalidArgument for too many.
        """
        refuse_too_many(chosen)
        if "post" not in request.POST:
            return self._preview(pages, request, chosen)
        with account_write():  # nobody changes anything after the look at the state
            rows = self._rows(chosen)
            self._apply(pages, request, rows)
        text = f"{_counted(pages, rows)} {self.done}."
        level = messages.SUCCESS if rows else messages.INFO
        pages.message_user(request, text, level)
        return None

    def _rows(self, chosen: QuerySet[Any]) -> list[Any]:
        return [row for row in chosen.order_by("pk") if self.applies(row)]

    def _apply(self, pages: Any, request: HttpRequest, rows: list[Any]) -> None:
        for row in rows:
            self.apply(pages, request, row)

    def _preview(
        self, pages: Any, request: HttpRequest, chosen: QuerySet[Any]
    ) -> HttpResponse:
        number, rows = chosen.count(), self._rows(chosen)
        # What it would do is found out by doing it, and undoing that.
        lines, refusal = [], ""
        try:
            lines = trail.trails.only.foresee(
                request, lambda: self._apply(pages, request, rows)
            )
        except ServiceError as error:
            refusal = error.message
        facts = {
            "subtitle": _counted(pages, rows) if len(rows) != 1 else str(rows[0]),
            "opts": pages.opts,
            "media": pages.media,
            "action": self,
            "rows": rows,
            "unchanged": number - len(rows),
            "lines": lines,
            "refusal": refusal,
            "checkbox": ACTION_CHECKBOX_NAME,
            "back": home.list_url(pages.model, {}),
        }
        return page(request, TEMPLATE, self.label, facts)


def too_many() -> str:
    """Say how many may be chosen."""
    return f"choose at most {MOST} at once"


def refuse_too_many(chosen: QuerySet[Any]) -> None:
    """Raise InvalidArgument for so many that others would wait long for the write lock."""
    if chosen.count() > MOST:
        raise InvalidArgument(too_many())


def _counted(pages: Any, rows: list[Any]) -> str:
    return f"{len(rows):,} {model_ngettext(pages.opts, len(rows))}"


def _switch(name: str, *, enabled: bool) -> BulkAction:
    return BulkAction(
        *(name, name.capitalize(), f"{name}d"),
        lambda pages, request, row: pages.set_enabled(row, enabled=enabled),
        lambda row: row.enabled != enabled,
    )


SWITCH: Final = (_switch("enable", enabled=True), _switch("disable", enabled=False))
"""For objects with a field `enabled`, whose pages have `set_enabled`."""
