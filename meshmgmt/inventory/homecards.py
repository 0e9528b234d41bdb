"""What the inventory says on the admin site's first page."""

from collections.abc import Iterator

from django.http import HttpRequest

from meshmgmt.adminsite import home
from meshmgmt.adminsite.home import Figure, Place, Tone
from meshmgmt.inventory.admin.filters import PeerStateFilter
from meshmgmt.inventory.models import Peer


def register() -> None:
    home.contribute(Place.PEERS, "peers", _peers)


def _peers(request: HttpRequest) -> Iterator[Figure]:
    yield from home.state_figures(
        request,
        Peer,
        PeerStateFilter,
        {
            "connected": ("online", Tone.OK),
            "disconnected": ("offline", Tone.NONE),
            "approval_required": ("waiting for approval", Tone.WARN),
            "login_expired": ("must sign in again", Tone.WARN),
            "login_ends_soon": ("to sign in again within 3 hours", Tone.NONE),
        },
    )
