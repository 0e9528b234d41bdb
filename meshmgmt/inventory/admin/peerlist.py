"""The list of peers in the admin site: is it online, where is it, whose is it."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from meshmgmt.accounts.models import Account
from meshmgmt.adminsite.filters import StateFilter
from meshmgmt.adminsite.lists import ServiceList
from meshmgmt.adminsite.look import badge
from meshmgmt.core import clock
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.standing import (
    BLOCKED,
    EXPIRED,
    PENDING,
    login_ends_soon,
    peer_states,
    standing_of,
)

_HINDRANCES: Final = {
    BLOCKED: ("owner blocked", "bad"),
    PENDING: ("owner pending approval", "warn"),
    EXPIRED: ("login expired", "bad"),
}
"""By what keeps a peer away: the text of a badge, and its tone."""
_UNITS: Final = (("day", 86_400), ("hour", 3600), ("minute", 60))


def badges(peer: Peer, reason: str) -> SafeString:
    """Return what there is to say of a peer's state; `reason` is that of its standing."""
    return format_html_join(" ", "{}", ((mark,) for mark in _marks(peer, reason)))


def _marks(peer: Peer, reason: str) -> Iterator[SafeString]:
    if peer.connected:
        yield badge("connected")
    elif peer.last_seen is None:
        yield badge("never connected")
    else:
        yield badge(f"offline for {_span(clock.now() - peer.last_seen)}")
    if peer.approval_required:
        yield badge("pending approval")
    if reason:
        yield badge(*_HINDRANCES[reason])


def _span(length: dt.timedelta) -> str:
    """Return a length of time in its largest unit, as people say it."""
    seconds = max(0, int(length.total_seconds()))
    for name, size in _UNITS:
        if count := seconds // size:
            return f"{count} {name}{'s' * (count > 1)}"
    return "moments"


class PeerList(ServiceList):
    """A page of peers that knows the account, which states depend on."""

    def complete(self, request: HttpRequest, shown: list[Any]) -> None:
        """Tell each peer how it stands."""
        account = Account.objects.get()
        for peer in shown:
            peer.standing = standing_of(peer, account)


class PeerColumns:
    """Columns of `PeerList`, each of which says two things at most."""

    @admin.display(description="name", ordering="name")
    def title(self, peer: Peer) -> SafeString:
        """The name, over the label that DNS knows the peer by."""
        return _two(peer.name, peer.dns_label)

    @admin.display(description="state, last seen (UTC)", ordering="last_seen")
    def state(self, peer: Any) -> SafeString:
        """Badges: whether it is connected, and what hinders it; when it was last."""
        marks = badges(peer, peer.standing.reason)
        return format_html("{}{}", marks, _moment(peer.last_seen))

    @admin.display(description="address", ordering="ip")
    def address(self, peer: Peer) -> SafeString:
        """Both addresses in the mesh."""
        return _two(peer.ip, peer.ipv6 or "")

    @admin.display(description="owner", ordering="user__email")
    def owner(self, peer: Peer) -> str:
        """Who enrolled it; peers of setup keys have the key's name."""
        if peer.user is not None:
            return peer.user.email or peer.user.name
        return f"key {peer.setup_key_name}" if peer.setup_key_name else "-"

    @admin.display(description="location", ordering="country_code")
    def location(self, peer: Peer) -> SafeString | str:
        """Where it connects from: city and country, over the address."""
        return _two(place_of(peer) or "-", peer.connection_ip)

    @admin.display(description="client", ordering="version")
    def client(self, peer: Peer) -> SafeString:
        """Its operating system, over the version of the client."""
        return _two(peer.os or "-", peer.version)


def place_of(peer: Peer) -> str:
    """Return city and country of where a peer connects from, "" if unknown."""
    return ", ".join(filter(None, (peer.city_name, peer.country_code)))


def _moment(moment: dt.datetime | None) -> SafeString:
    """Return a moment to the minute; nothing for never."""
    if moment is None:
        return SafeString("")
    return format_html(
        '<time class="below" datetime="{}">{}</time>',
        clock.rfc3339(moment),
        f"{moment.astimezone(dt.UTC):%Y-%m-%d %H:%M}",
    )


def _two(first: str, second: str) -> SafeString:
    """Return a text, and a quieter one below it where there is one."""
    below = format_html('<span class="below">{}</span>', second)
    return format_html("<bdi>{}</bdi>{}", first, below if second else "")


class PeerStateFilter(StateFilter):
    """Online, offline, or what keeps a peer from being either."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states of peers; a login that ends soon is a further one."""
        return {**peer_states(), "login_ends_soon": login_ends_soon()}
