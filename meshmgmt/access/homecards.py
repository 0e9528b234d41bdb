"""What this room says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest

from meshmgmt.access.adminfilters import SetupKeyStateFilter
from meshmgmt.access.models import SetupKey
from meshmgmt.api import home
from meshmgmt.api.home import Figure, Place, Tone


def contribute() -> None:
    """Add the setup keys about to end."""
    home.contribute(Place.ENDING, "setup_keys", _setup_keys)


def _setup_keys(request: HttpRequest) -> Iterator[Figure]:
    shown = {"about_to_end": ("setup keys", Tone.WARN)}
    yield from home.state_figures(request, SetupKey, SetupKeyStateFilter, shown)
