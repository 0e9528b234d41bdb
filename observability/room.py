"""What is measured of other rooms, and what the first page shows of the server's health."""

from collections.abc import Iterator, Sequence
from typing import Final

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse

from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Line, Place, Tone, Trend
from meshmgmt.api.limits import request_refused
from meshmgmt.core import transactions
from observability.database import timing
from observability.health import readiness
from observability.health.readiness import Finding
from observability.health.relay import relay_health
from observability.metrics import history, instruments

RELAY_SECONDS: Final = 60.0
"""How old the relay's health may be here: a listener that hangs costs seconds."""
_LIMITED: Final = instruments.counter("mesh.requests.limited.total")


def register() -> None:
    waited, held = transactions.lock_waited, transactions.lock_held
    waited.connect(timing.lock_waited, dispatch_uid="observability.waited")
    held.connect(timing.lock_held, dispatch_uid="observability.held")
    request_refused.connect(_limited, dispatch_uid="observability.limited")
    home.contribute(Place.HEALTH, "events", _health)
    home.contribute(Place.TRENDS, "peers", _peers_online)


def _limited(caller: str, **_: object) -> None:
    _LIMITED.labels(caller=caller).inc()


def _peers_online(request: HttpRequest) -> Iterator[Trend]:
    values = history.connected_by_hour(settings.SVC.runtime_dir)
    if any(values):
        url = reverse("admin:inventory_peer_changelist")
        yield home.trend("Peers online", url, values, _most)


def _most(values: Sequence[float | None]) -> str:
    return f"at most {max(filter(None, values), default=0):,.0f}"


def _health(request: HttpRequest) -> Iterator[Line]:
    found = [*readiness.findings(), *_relay()]
    wrong = [finding for finding in found if finding.problem]
    yield _light(wrong)
    for finding in wrong:
        tone = Tone.BAD if finding.required else Tone.WARN
        yield Line(finding.problem, badge=finding.name, tone=tone)
    yield Line("Figures, checks and log level", url=reverse("admin-metrics"))


def _light(wrong: list[Finding]) -> Line:
    if any(finding.required for finding in wrong):
        return Line(
            "This server should get no requests", badge="failing", tone=Tone.BAD
        )
    if wrong:
        return Line("Requests are answered", badge="degraded", tone=Tone.WARN)
    return Line("Every check is fine", badge="healthy", tone=Tone.OK)


def _relay() -> Iterator[Finding]:
    listeners = settings.SVC.relay_listeners
    if not listeners:
        return
    health = relay_health(listeners, settings.SVC.runtime_dir, seconds=RELAY_SECONDS)
    for probe in health.probes:
        if probe.problem:
            text = f"{probe.url}: {probe.problem}"
            yield Finding("relay", text, required=False)
