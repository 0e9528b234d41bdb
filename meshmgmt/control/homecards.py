"""What the peer protocol says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest

from meshmgmt.api import home
from meshmgmt.api.adminfilters import EndFilter
from meshmgmt.api.home import Figure, Line, Place, Tone
from meshmgmt.control.models import ProxyToken
from meshmgmt.control.server import figures
from meshmgmt.core.counting import counted


def contribute() -> None:
    """Add the streams of this host, and the tokens about to end."""
    home.contribute(Place.PEERS, "peers", _streams)
    home.contribute(Place.ENDING, "services", _tokens)


def _streams(request: HttpRequest) -> Iterator[Line]:
    del request
    found = figures.current()
    if found is None:
        return
    yield Line(f"{found.connected:,} connected to this host")
    yield Line(counted(found.signal_streams, "signal stream"))
    if wait := found.oldest_wait_seconds:
        yield Line(f"A map has waited for {wait:.0f} s", tone=Tone.WARN)
    else:
        yield Line("Every map is delivered")


def _tokens(request: HttpRequest) -> Iterator[Figure]:
    shown = {"about_to_end": ("proxy token{s}", Tone.WARN)}
    yield from home.state_figures(request, ProxyToken, EndFilter, shown)
