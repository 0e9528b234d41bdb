"""What this room says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest
from django.urls import reverse

from meshmgmt.access.admin.filters import SetupKeyStateFilter
from meshmgmt.access.models import SetupKey
from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Figure, Line, Place, Tone


def register() -> None:
    """Add the setup keys about to end, and a way to invite people."""
    home.contribute(Place.ENDING, "setup_keys", _setup_keys)
    home.contribute(Place.PEOPLE, "users", _invite)


def _setup_keys(request: HttpRequest) -> Iterator[Figure]:
    shown = {"about_to_end": ("setup key{s}", Tone.WARN)}
    yield from home.state_figures(request, SetupKey, SetupKeyStateFilter, shown)


def _invite(request: HttpRequest) -> Iterator[Line]:
    if request.user.has_perm("access.add_invite"):
        yield Line("Invite a person", url=reverse("admin:access_invite_add"))
