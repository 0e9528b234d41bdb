"""Admin pages of peers: how one is, before what was set and reported."""

import datetime as dt
from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from events.admin.cells import Fact, joined, plain, present
from events.admin.peerparts import changes_of, traffic_of
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.selectors import account_domain
from meshmgmt.adminsite import home
from meshmgmt.adminsite.bulk import BulkAction
from meshmgmt.adminsite.fields import LinesField
from meshmgmt.adminsite.look import badge, second, shown
from meshmgmt.adminsite.pages import ServiceAdmin, ServiceForm
from meshmgmt.inventory.admin.peerlist import (
    PeerColumns,
    PeerList,
    PeerStateFilter,
    badges,
    place_of,
)
from meshmgmt.inventory.labels import full_name
from meshmgmt.inventory.models import CONNECTION, MACHINE, REPORTED, SWITCHES, Peer
from meshmgmt.inventory.rules import LOCAL_FLAGS
from meshmgmt.inventory.services.peers import peer_create, peer_delete, peer_update
from meshmgmt.inventory.standing import standing_of
from meshmgmt.mesh.versions import parse

_NANOSECONDS: Final = 10**9
_SWITCHED_ON: Final = {
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
    if peer.connected and peer.stream_started and peer.last_seen:
        seconds = peer.stream_started / _NANOSECONDS
        # The start is a fence as well: it may be ahead of the clock.
        return min(dt.datetime.fromtimestamp(seconds, dt.UTC), peer.last_seen)
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
    return ", ".join(text for name, text in _SWITCHED_ON.items() if getattr(peer, name))


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


EDIT = "edit"
"""The parameter of a peer's page that shows its settings as a form."""

_USER = Peer._meta.get_field("user")

_MADE = ("id", "dns_label", "setup_key_name", "created_at", "allow_extra_dns_labels")
_SWITCHES = (*SWITCHES, "disapproval_reason")
_REPORTED = ("flags", *REPORTED, "addresses")
_READ = ("reported", "collapse")


class PeerForm(ServiceForm):
    """A peer; the DNS label follows the name, a free address stands for none."""

    field_names = {"user_id": "user"}

    name = forms.CharField(required=False, strip=False)
    wg_public_key = forms.CharField(label="WireGuard public key", required=False)
    ip = forms.CharField(
        label="IPv4 address", required=False, help_text="Empty: a free one is taken."
    )
    ipv6 = forms.CharField(
        label="IPv6 address", required=False, help_text="Empty: its groups decide."
    )
    user = forms.ModelChoiceField(
        queryset=User.objects.all(),
        required=False,
        widget=AutocompleteSelect(_USER, admin.site),
    )
    extra_dns_labels = LinesField(
        label="Extra DNS labels", help_text="One label per line."
    )
    local_flags = forms.MultipleChoiceField(
        choices=[(flag, flag.replace("_", " ")) for flag in LOCAL_FLAGS],
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )

    def apply(self, data: dict[str, Any]) -> Peer:
        values = dict(data)
        if not self.adding:  # others are told of what was changed alone
            values = {n: values[n] for n in self.changed_data if n in values}
        if "user" in values:
            user = values.pop("user")
            values["user_id"] = None if user is None else user.pk
        if self.adding:
            values["local_flags"] = dict.fromkeys(values["local_flags"], True)
            return peer_create(**values)
        return peer_update(peer_id=self.instance.pk, **values)


def _approval(name: str, done: str, *, required: bool) -> BulkAction:
    """Return what approves peers, or blocks them until somebody does."""
    return BulkAction(
        *(name, name.capitalize(), done),
        lambda pages, request, peer: peer_update(
            peer_id=peer.pk, approval_required=required
        ),
        lambda peer: peer.approval_required != required,
    )


@admin.register(Peer)
class PeerAdmin(PeerColumns, ServiceAdmin):
    """Peers: also the way to make some without the peer protocol."""

    form = PeerForm
    list_class = PeerList
    list_display = ["title", "state", "address", "owner", "location", "client"]
    list_filter = [
        *(PeerStateFilter, "connected", "approval_required", "login_expired"),
        *("ephemeral", "ssh_enabled", "country_code"),
    ]
    list_select_related = ["user"]
    search_fields = [
        *("name", "ip", "ipv6", "dns_label", "hostname", "user__email", "=id")
    ]
    bulk = (
        _approval("approve", "approved", required=False),
        _approval("block", "blocked", required=True),
    )
    readonly_fields = [*_MADE, *_REPORTED, *CONNECTION]
    fixed = MACHINE

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the form's parts; what the client of a stored peer reports is read."""
        given = ("name", "wg_public_key", "ip", "ipv6", "user", "extra_dns_labels")
        parts: list[Any] = [
            (None, {"fields": given}),
            ("Switches", {"fields": _SWITCHES}),
        ]
        if obj is None:
            machine = ("Machine", {"fields": (*MACHINE, "local_flags")})
            return [*parts, machine]
        reported = (*MACHINE, *_REPORTED)
        return [
            *parts,
            ("Reported by its client", {"fields": reported, "classes": _READ}),
            ("Record", {"fields": (*_MADE, *CONNECTION), "classes": _READ}),
        ]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show how a peer is; its form where it is asked for, or was refused."""
        peer = context["original"]
        context |= {
            "show_save_and_continue": False,
            "show_save_and_add_another": peer is None,
        }
        response: Any = super().render_change_form(request, context, *args, **kwargs)
        if peer is None or request.method == "POST" or EDIT in request.GET:
            return response  # type: ignore[no-any-return]
        context |= {
            "title": "Peer",
            "facts": self.page_facts(peer),
            "traffic": traffic_of(request, peer.pk),
            "changes": changes_of(request, peer.pk),
        }
        # Rendered only later: facts and template may still be others.
        response.template_name = "admin/inventory/peer/page.html"
        return response  # type: ignore[no-any-return]

    def page_facts(self, peer: Peer) -> list[Fact]:
        """Return what a peer's page tells first."""
        return state_facts(peer)

    def response_post_save_change(
        self, request: HttpRequest, obj: Any
    ) -> HttpResponseRedirect:
        """Lead back to the peer."""
        return HttpResponseRedirect(home.object_url(obj))

    def delete_model(self, request: HttpRequest, obj: Peer) -> None:
        peer_delete(peer_id=obj.pk)

    @admin.display(description="set on the machine")
    def flags(self, peer: Peer) -> str:
        """What its owner decided on the machine itself."""
        chosen = [flag for flag in LOCAL_FLAGS if peer.local_flags.get(flag)]
        return ", ".join(flag.replace("_", " ") for flag in chosen) or "-"

    @admin.display(description="network addresses")
    def addresses(self, peer: Peer) -> SafeString:
        """The addresses of the machine itself, with those of its interfaces."""
        rows = ((x["net_ip"], x["mac"] or "-") for x in peer.network_addresses)
        return format_html_join(mark_safe("<br>"), "{} ({})", rows)
