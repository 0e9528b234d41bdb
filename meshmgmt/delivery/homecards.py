"""What deliveries say on the admin site's first page."""

from collections.abc import Iterator, Mapping

from django.db.models import Q
from django.http import HttpRequest

from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.adminsite.home import Figure, Place, Tone
from meshmgmt.delivery.models import Subscription


class DeliveryStateFilter(StateFilter):
    """Subscriptions by how their deliveries go."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states."""
        return {
            "failing": Q(enabled=True, failures__gt=0),
            "delivering": Q(enabled=True, failures=0),
            "disabled": Q(enabled=False),
        }


def register() -> None:
    """Add the deliveries that fail."""
    home.contribute(Place.LAST_HOUR, "events", _failing)


def _failing(request: HttpRequest) -> Iterator[Figure]:
    shown = {"failing": ("failing subscription{s}", Tone.BAD)}
    yield from home.state_figures(request, Subscription, DeliveryStateFilter, shown)
