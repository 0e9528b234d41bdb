"""What the peer protocol says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest

from meshmgmt.adminsite import home
from meshmgmt.adminsite.filters import EndFilter
from meshmgmt.adminsite.home import Figure, Line, Place, Tone
from meshmgmt.control.firststeps import first_steps
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.server import figures
from meshmgmt.core.counting import counted


def register() -> None:
    """Add the streams of this host, and the tokens about to end."""
    home.contribute(Place.FIRST_STEPS, "setup_keys", first_steps)
    home.contribute(Place.PEERS, "peers", _streams)
    home.contribute(Place.ENDING, "services", _tokens)


def _streams(request: HttpRequest) -> Iterator[Line]:
    del request
    found = figures.current()
    if not found:
        return
    yield Line(f"{sum(each.connected for each in found):,} connected to this host")
    if streams := sum(each.signal_streams for each in found):
        yield Line(counted(streams, "signal stream"))
    if wait := max(each.oldest_wait_seconds for each in found):
        yield Line(f"A map has waited for {wait:.0f} s", tone=Tone.WARN)
    else:
        yield Line("Every map is delivered")


def _tokens(request: HttpRequest) -> Iterator[Figure]:
    shown = {"about_to_end": ("proxy token{s}", Tone.WARN)}
    yield from home.state_figures(request, ProxyToken, EndFilter, shown)
