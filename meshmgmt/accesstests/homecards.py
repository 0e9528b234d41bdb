"""What access tests say on the admin site's first page."""

from collections.abc import Iterator, Mapping

from django.db.models import Q
from django.http import HttpRequest

from meshmgmt.accesstests.models import EMPTY, FAILING, PASSING, AccessTest
from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.adminsite.home import Figure, Line, Place, Tone

SHOWN = 5


class StandingFilter(StateFilter):
    """Tests by how they go."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states."""
        return {
            FAILING: Q(enabled=True, state=FAILING),
            PASSING: Q(enabled=True, state=PASSING),
            EMPTY: Q(enabled=True, state=EMPTY),
            "disabled": Q(enabled=False),
        }


def register() -> None:
    """Add the tests that fail."""
    home.contribute(Place.ACCESS, "policies", _tests)


def _tests(request: HttpRequest) -> Iterator[Figure | Line]:
    shown = {
        FAILING: ("failing access test{s}", Tone.BAD),
        PASSING: ("passing access test{s}", Tone.OK),
        EMPTY: ("empty access test{s}", Tone.WARN),
    }
    figures = list(home.state_figures(request, AccessTest, StandingFilter, shown))
    if not any(figure.number for figure in figures):
        return
    yield from figures
    if not figures[0].number:
        return
    failing = AccessTest.objects.filter(StandingFilter.states()[FAILING])
    for test in failing.order_by("-enforce", "id")[:SHOWN]:
        yield Line(
            test.name,
            test.failures[0]["because"],
            home.object_url(test),
            tone=Tone.BAD,
        )
