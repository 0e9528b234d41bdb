"""The page of a peer in the admin site: how it is, before what was set and reported."""

import datetime as dt
from typing import Final

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from events.admin.cells import Fact, joined, plain, present
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.adminsite.look import badge, second, shown
from meshmgmt.inventory.admin.peerlist import badges, place_of
from meshmgmt.inventory.labels import full_name
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.standing import standing_of
from meshmgmt.mesh.versions import parse

_NANOSECONDS: Final = 10**9
_SWITCHES: Final = {
    "ssh_enabled": "SSH server",
    "login_expiration_enabled": "login expires",
    "inactivity_expiration_enabled": "login expires when not used",
    "ephemeral": "removed when it stays away",
}


def state_facts(peer: Peer) -> list[Fact]:
    """Return how a peer is: connected or not, since when, from where, as what."""
    standing = standing_of(peer, Account.objects.get())
    return present(
        [
            Fact("State", badges(peer, standing.reason)),
            Fact(
                "Online since" if peer.connected else "Last seen", _moment(_since(peer))
            ),
            Fact("Connects from", joined(peer.connection_ip, shown(place_of(peer)))),
            Fact("Address", joined(peer.ip, peer.ipv6)),
            Fact("Name in DNS", _names(peer)),
            Fact("Owner", _owner(peer)),
            Fact("Must sign in again", _moment(standing.until)),
            Fact("Agent", _agent(peer.version)),
            Fact("Switched on", _switches(peer)),
            Fact("System", joined(plain(peer.os), plain(peer.kernel_version))),
        ]
    )


def newest_version(versions: list[str]) -> str:
    """Return the newest released version of some, "" if none is one."""
    released = [
        (found.numbers, text)
        for text in versions
        if (found := parse(text)) and not found.pre
    ]
    return max(released, default=((), ""))[1]


def _since(peer: Peer) -> dt.datetime | None:
    """Return when the peer's stream began, or when it was seen last."""
    if peer.connected and peer.stream_started:
        seconds = peer.stream_started / _NANOSECONDS
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    return peer.last_seen


def _moment(moment: dt.datetime | None) -> str:
    return f"{second(moment)} UTC" if moment else ""


def _names(peer: Peer) -> SafeString:
    domain = account_domain()
    labels = (peer.dns_label, *peer.extra_dns_labels)
    return joined(*(full_name(label, domain) for label in labels))


def _owner(peer: Peer) -> SafeString | str:
    """Return who enrolled it, or the setup key that did."""
    if peer.user is None:
        name = peer.setup_key_name
        return format_html("setup key {}", shown(name)) if name else ""
    url = reverse("admin:accounts_user_change", args=[peer.user_id])
    name = peer.user.email or peer.user.name
    return format_html('<a href="{}">{}</a>', url, shown(name))


def _switches(peer: Peer) -> str:
    return ", ".join(text for name, text in _SWITCHES.items() if getattr(peer, name))


def _agent(version: str) -> SafeString | str:
    """Return the version of the client, compared with the newest of all peers."""
    if not version:
        return ""
    versions = Peer.objects.order_by().values_list("version", flat=True).distinct()
    newest = newest_version(list(versions))
    if not newest or version == newest:
        mark = badge("newest seen", "ok") if newest else ""
    else:
        mark = badge(f"newest seen: {newest}", "warn")
    return format_html("{} {}", shown(version), mark)
