"""What accounts say on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest

from meshmgmt.accounts.models import AccessToken, User
from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import EndFilter
from meshmgmt.adminsite.home import Figure, Place, Tone


def register() -> None:
    """Add the tokens about to end and the people nobody has let in yet."""
    home.contribute(Place.ENDING, "pats", _tokens)
    home.contribute(Place.PEOPLE, "users", _pending)


def _tokens(request: HttpRequest) -> Iterator[Figure]:
    shown = {"about_to_end": ("access token{s}", Tone.WARN)}
    yield from home.state_figures(request, AccessToken, EndFilter, shown)


def _pending(request: HttpRequest) -> Iterator[Figure]:
    waiting = home.visible(request, User).filter(pending_approval=True)
    url = home.list_url(User, {"pending_approval__exact": "1"})
    yield Figure("to let in", waiting.count(), url, Tone.WARN)
