"""The admin site's first page: cards with figures, each of which leads to what it counts.

Rooms contribute to the cards in their `room.py`; what a figure counts and what its list
shows come from the same `StateFilter`, or from the same lookups.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.api.permissions import may
from meshmgmt.core.queries import numbers_by_state
from meshmgmt.core.registry import Registry

MOST_COUNTED: Final = 10_000
"""How far rows of the big streams are counted."""

RENEWAL: Final = "X-Renewal"
"""The header of requests by `refresh.js`."""

CHART_WIDTH: Final = 300
CHART_HEIGHT: Final = 60
_FILLED: Final = 0.8
"""The part of its place that a column of a chart fills."""


class Place(StrEnum):
    """The cards, in their order."""

    FIRST_STEPS = "First steps"
    ATTENTION = "Needs attention"
    HEALTH = "Health"
    TRENDS = "Trends"
    ACCESS = "Access"
    PEERS = "Peers"
    LAST_HOUR = "Last hour"
    ENDING = "Ends within 7 days"
    PEOPLE = "People"
    DNS = "DNS"
    CHANGES = "Newest changes"


class Tone(StrEnum):
    """What something means for the operator."""

    NONE = "off"
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


ALARMING: Final = frozenset({Tone.WARN, Tone.BAD})


@dataclass(frozen=True, slots=True)
class Figure:
    """A number; its `url` lists exactly what it counts. `tone`: of one that is not 0.

    `{s}` in a label is the plural's. `place` is where it comes from, when it is shown
    elsewhere. One that is `bounded` is counted up to `MOST_COUNTED`.
    """

    label: str
    number: int
    url: str
    tone: Tone = Tone.NONE
    place: str = ""
    bounded: bool = False

    @property
    def is_alarming(self) -> bool:
        return self.number > 0 and self.tone in ALARMING

    @property
    def is_idle(self) -> bool:
        """Whether it says nothing: it counts what there is none of."""
        return not self.number and self.tone is not Tone.OK

    @property
    def shown(self) -> str:
        """The number as people read it."""
        more = "+" if self.bounded and self.number >= MOST_COUNTED else ""
        return f"{self.number:,}{more}"

    @property
    def noun(self) -> str:
        """The label as it goes with the number."""
        return self.label.format(s="" if self.number == 1 else "s")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, with something smaller behind it; a `badge` stands before it.

    `code` is something to copy; to `post` leads a button. One said `later` stands for what
    takes too long for the page: see `is_renewal`; one that is waited for comes `soon`.
    """

    text: str
    detail: str = ""
    url: str = ""
    badge: str = ""
    tone: Tone = Tone.NONE
    later: bool = False
    code: str = ""
    post: str = ""
    soon: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time up to now: what is to say of it, and its columns (SVG)."""

    name: str
    told: str
    path: str


@dataclass(frozen=True, slots=True)
class Trend:
    """How something went, hour by hour; its `url` lists what was counted."""

    label: str
    url: str
    spans: tuple[Span, ...]

    width = CHART_WIDTH
    height = CHART_HEIGHT


WEEK_HOURS: Final = 168
_SPANS: Final = {"24 hours": 24, "7 days": WEEK_HOURS}

Part = Figure | Line | Trend
Read = Callable[[HttpRequest], Iterable[Part]]


@dataclass(frozen=True, slots=True)
class Card:
    """What the rooms say in one place; `light` is the line that sums the others up."""

    place: Place
    figures: list[Figure]
    lines: list[Line]
    trends: list[Trend]
    light: Line | None


_contributions: Final = Registry[tuple[Place, Read], str]()


def contribute(place: Place, module: str, read: Read) -> None:
    """Add figures and lines to a card, for roles that may read a module."""
    _contributions.add((place, read), module)


def contribute_ending(
    module: str, model: type[Model], state_filter: type[StateFilter], label: str
) -> None:
    """Add how many objects of a model are about to end."""
    shown = {"about_to_end": (label, Tone.WARN)}
    read = partial(state_figures, model=model, state_filter=state_filter, shown=shown)
    contribute(Place.ENDING, module, read)


def cards(request: HttpRequest) -> list[Card]:
    """Return the cards that the signed-in user may see; empty ones are left out."""
    parts: dict[Place, list[Part]] = {place: [] for place in Place}
    for (place, read), module in _contributions.items():
        if may(request, module):
            parts[place] += read(request)
    _gather(parts)
    return [_card(place, found) for place, found in parts.items() if found]


_WHOLE: Final = frozenset({Place.FIRST_STEPS, Place.HEALTH})
"""What stays together: steps have an order, and a light says how all of it is."""


def _gather(parts: dict[Place, list[Part]]) -> None:
    """Bring together what alarms, and leave out what counts nothing."""
    # A viewer without any module sees no card that says all is well.
    if not any(parts.values()):
        return
    urgent: list[Figure | Line] = []
    for place, found in parts.items():
        if place in _WHOLE:
            continue
        for part in found:
            if isinstance(part, Figure) and part.is_alarming:
                urgent.append(replace(part, place=place))
            elif isinstance(part, Line) and part.tone in ALARMING:
                urgent.append(part)
        parts[place] = [part for part in found if not _is_gathered(part)]
    # What is bad first; otherwise in the order of the cards.
    urgent.sort(key=lambda part: part.tone is not Tone.BAD)
    parts[Place.ATTENTION] = [*urgent] or [Line("Nothing does")]


def _is_gathered(part: Part) -> bool:
    if isinstance(part, Figure):
        return part.is_alarming or part.is_idle
    return isinstance(part, Line) and part.tone in ALARMING


def trend(
    label: str,
    url: str,
    values: Sequence[float | None],
    tell: Callable[[Sequence[float | None]], str],
) -> Trend:
    """Return the trend of the hours of a week, oldest first; `tell` sums a span up."""
    spans = (
        Span(name, tell(values[-hours:]), chart(values[-hours:]))
        for name, hours in _SPANS.items()
    )
    return Trend(label, url, tuple(spans))


def chart(values: Sequence[float | None]) -> str:
    """Return an SVG path of columns side by side, the largest `CHART_HEIGHT` high.

    Nothing stands for None and 0; what is more is at least one unit high. The server draws
    it, so pages need no script.
    """
    largest = max(filter(None, values), default=0)
    place = CHART_WIDTH / max(len(values), 1)
    return "".join(
        # Something is never drawn as nothing.
        _column(number * place, place * _FILLED, max(1, CHART_HEIGHT * value / largest))
        for number, value in enumerate(values)
        if value
    )


def _column(left: float, width: float, height: float) -> str:
    return f"M{left:.1f} {CHART_HEIGHT}v-{height:.1f}h{width:.1f}v{height:.1f}z"


def is_renewal(request: HttpRequest) -> bool:
    """Tell whether a script asks, while the user looks at the page: it may take a while."""
    return RENEWAL in request.headers


def _card(place: Place, parts: list[Part]) -> Card:
    lines = [part for part in parts if isinstance(part, Line)]
    return Card(
        place,
        [part for part in parts if isinstance(part, Figure)],
        lines,
        [part for part in parts if isinstance(part, Trend)],
        next((line for line in lines if line.badge), None),
    )


def state_figures(
    request: HttpRequest,
    model: type[Model],
    state_filter: type[StateFilter],
    shown: Mapping[str, tuple[str, Tone]],
) -> Iterator[Figure]:
    """Yield how many of the rows that the user may see are in each state `shown`.

    `shown` maps states to labels and tones. One query, whatever their number.
    """
    states = state_filter.states()
    wanted = {name: states[name] for name in shown}
    numbers = numbers_by_state(visible(request, model), wanted)
    for name, (label, tone) in shown.items():
        url = list_url(model, {state_filter.parameter_name: name})
        yield Figure(label, numbers[name], url, tone)


def bounded_figure(
    label: str, rows: QuerySet[Any], url: str, tone: Tone = Tone.NONE
) -> Figure:
    """Return how many rows there are, counted up to `MOST_COUNTED`."""
    number = rows.order_by().values("pk")[:MOST_COUNTED].count()
    return Figure(label, number, url, tone, bounded=True)


def visible(request: HttpRequest, model: type[Model]) -> QuerySet[Any]:
    """Return the rows of which the user may see the pages."""
    pages = admin.site.get_model_admin(model)
    if not pages.has_view_permission(request):
        return model._default_manager.none()
    return pages.get_queryset(request).order_by()


def list_url(model: type[Model], query: Mapping[str, str]) -> str:
    """Return the address of a model's list, filtered."""
    return f"{page_url(model, 'changelist')}?{urlencode(query)}"


def object_url(row: Model) -> str:
    """Return the address of an object's page."""
    return page_url(type(row), "change", quote(row.pk))


def page_url(model: type[Model], page: str, *args: str) -> str:
    """Return the address of a page that the admin site makes for a model."""
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_{page}", args=args)
