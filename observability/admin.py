"""The admin's metrics page: the last hour as small charts, checks, the log level."""

import datetime as dt
import time
from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.management.base import CommandError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.adminsite.site import page
from meshmgmt.api.permissions import check_page, may
from meshmgmt.core import clock
from meshmgmt.core.context import account_id
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import account_write
from meshmgmt.envvalues import LEVEL_NAMES
from observability.health import status
from observability.logs import levelcontrol, loglevels
from observability.logs.loglevels import scope_text
from observability.metrics import history
from observability.metrics.history import Point

WIDTH: Final = 300
HEIGHT: Final = 60
_SHORTEST_SECONDS: Final = 120.0
_TABLE_STEP: Final = 30
"""Points of ten seconds between two rows of the table."""
DURATIONS: Final = (
    ("10m", "for ten minutes"),
    ("1h", "for an hour"),
    ("24h", "for a day"),
    ("", "until the server starts again"),
)


_FIGURES: Final = (
    ("Requests", "per second", "requests_per_second"),
    ("Server errors", "per second", "failures_per_second"),
    ("Duration, 95 %", "ms", "p95_ms"),
    ("Wait for the write lock, 95 %", "ms", "lock_wait_p95_ms"),
    ("Memory of all processes", "MiB", "memory_mib"),
    ("Connected peers", "", "peers_connected"),
)


def holding() -> list[dict[str, Any]]:
    """Return the changes of the running server's level that hold now.

    Without `until` one ends when the server starts again.
    """
    control, now = loglevels.read(settings.SVC.runtime_dir), time.time()
    return [
        {
            "level": rule.level,
            "scope": scope_text(rule),
            "until": rule.expires and dt.datetime.fromtimestamp(rule.expires, dt.UTC),
        }
        for rule in control.rules
        if rule.active(now)
    ]


class LogLevelForm(forms.Form):
    """A level, for how long, and for what; changes it as `manage.py log_level` does."""

    level = forms.ChoiceField(
        choices=[(name, name) for name in LEVEL_NAMES], initial="debug"
    )
    duration = forms.ChoiceField(
        label="How long", choices=DURATIONS, initial=DURATIONS[0][0], required=False
    )
    logger = forms.CharField(
        required=False, help_text="One part of the code alone, such as dns."
    )
    path = forms.CharField(
        required=False, help_text="Requests for these paths alone, such as /api/dns/*."
    )
    told = ""

    def save(self) -> bool:
        """Carry the change out and record it; return False when it cannot be.

        With `reset` among the data everything is taken back.
        """
        if "reset" in self.data:
            return self._change({"level": levelcontrol.RESET})
        if not self.is_valid():
            return False
        return self._change({k: v for k, v in self.cleaned_data.items() if v})

    def _change(self, chosen: dict[str, str]) -> bool:
        options = dict.fromkeys(("duration", *levelcontrol.SCOPE))
        try:
            with account_write():  # what cannot be recorded is not done
                audit_record(
                    Activity.LOG_LEVEL_UPDATE, target_id=account_id(), meta=dict(chosen)
                )
                lines = levelcontrol.change(settings.SVC, {**options, **chosen})
        except CommandError as error:
            self.full_clean()
            self.add_error(None, str(error))
            return False
        self.told = f"Log level: {'; '.join(lines)}"
        return True


def metrics_page(request: HttpRequest) -> TemplateResponse:
    check_page(request, "events")
    return _page(request, LogLevelForm())


def log_level_page(request: HttpRequest) -> HttpResponse:
    """Change the level, or take all changes back, and return to the metrics."""
    check_page(request, "settings", Operation.UPDATE)
    form = LogLevelForm(request.POST or None)
    if request.method != "POST":
        return redirect("admin-metrics")
    if not form.save():
        return _page(request, form)
    messages.success(request, form.told)
    return redirect("admin-metrics")


def _page(request: HttpRequest, form: LogLevelForm) -> TemplateResponse:
    points = history.read(settings.SVC.runtime_dir)
    found = status.collect(detail=False)
    changed = holding()
    facts = {
        "charts": [chart(points, *figure) for figure in _FIGURES],
        "columns": [
            f"{title} ({unit})" if unit else title for title, unit, _ in _FIGURES
        ],
        "rows": table(points),
        "points": len(points),
        "status": found,
        "headline": _headline(found),
        "width": WIDTH,
        "height": HEIGHT,
        "now": clock.now(),
        "configured_level": settings.SVC.log_level,
        "changed_levels": changed,
        "form": form if may(request, "settings", Operation.UPDATE) else None,
    }
    template = "admin/observability/metrics.html"
    return page(request, template, "Metrics and checks", facts)


def _headline(found: status.Document) -> str:
    """Return what is said aloud when it changes."""
    wrong = [name for name, said in found["checks"].items() if said != "ok"]
    return f"Checks: {', '.join(wrong)} failed" if wrong else "Checks: all ok"


def chart(points: Sequence[Point], title: str, unit: str, name: str) -> dict[str, Any]:
    """Return a figure's newest and largest value, and an SVG path through all.

    Times without a value are gaps.
    """
    values: list[float | None] = [getattr(point, name) for point in points]
    known = [value for value in values if value is not None]
    largest = max(known, default=0.0)
    placed = [(point.time, v) for point, v in zip(points, values, strict=True)]
    return {
        "title": title,
        "unit": unit,
        "newest": _number(known[-1]) if known else "no value yet",
        "largest": _number(largest) if known else "",
        "path": line(placed, largest),
        "alarming": name == "failures_per_second" and largest > 0,
    }


def table(points: Sequence[Point]) -> list[tuple[dt.datetime, list[str]]]:
    """Return what the charts show as rows, one per five minutes, the newest first."""
    found = []
    for point in points[::-_TABLE_STEP]:
        values = [getattr(point, name) for _, _, name in _FIGURES]
        texts = ["-" if value is None else _number(value) for value in values]
        found.append((dt.datetime.fromtimestamp(point.time, dt.UTC), texts))
    return found


def line(values: Sequence[tuple[float, float | None]], largest: float) -> str:
    """Return an SVG path over what is known of the last hour, at least two minutes."""
    if not values:
        return ""
    end = values[-1][0]
    span = max(_SHORTEST_SECONDS, end - values[0][0])
    parts, pen = [], "M"
    for moment, value in values:
        if value is None:
            pen = "M"
            continue
        x = WIDTH * (1 - (end - moment) / span)
        y = HEIGHT - 2 - (HEIGHT - 4) * (value / largest if largest else 0)
        parts.append(f"{pen}{x:.1f} {y:.1f}")
        pen = "L"
    return " ".join(parts)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.2f}"  # noqa: PLR2004 - decimals of large numbers say nothing
