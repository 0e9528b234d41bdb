"""Admin pages of the inventory."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.widgets import AutocompleteSelect
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from meshmgmt.accounts.models import User
from meshmgmt.api.admin import ServiceAdmin, ServiceForm
from meshmgmt.api.adminfields import LinesField
from meshmgmt.inventory.adminfilters import PeerStateFilter
from meshmgmt.inventory.flags import LOCAL_FLAGS
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.peerlist import PeerColumns, PeerList
from meshmgmt.inventory.services.peers import peer_create, peer_delete, peer_update

_USER = Peer._meta.get_field("user")

_STATE = (
    *("connected", "last_seen", "last_login", "connection_ip", "country_code"),
    *("city_name", "geoname_id"),
)
_MACHINE = (
    "hostname",
    "os",
    "kernel_version",
    "version",
    "ui_version",
    "serial_number",
)
_REPORTED = (
    *("os_version", "go_os", "kernel", "platform", "product_name", "manufacturer"),
    *("addresses", "environment", "files", "capabilities", "sync_message_version"),
    "ssh_key",
)
_SWITCHES = (
    *("ssh_enabled", "login_expiration_enabled", "inactivity_expiration_enabled"),
    *("login_expired", "approval_required", "disapproval_reason", "ephemeral"),
)


class PeerForm(ServiceForm):
    """A peer; the DNS label follows the name, a free address stands for none."""

    field_names = {"user_id": "user"}

    name = forms.CharField(required=False, strip=False)
    wg_public_key = forms.CharField(label="WireGuard public key", required=False)
    ip = forms.CharField(
        label="IPv4 address", required=False, help_text="Empty: a free one is taken."
    )
    ipv6 = forms.CharField(label="IPv6 address", required=False)
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

    class Meta:
        model = Peer
        fields = [*_MACHINE, *_SWITCHES]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "wg_public_key", "ip", "ipv6", "extra_dns_labels"):
            if not self.adding:
                self.initial[name] = getattr(self.instance, name)
        self.initial["user"] = self.instance.user_id
        flags = self.instance.local_flags
        self.initial["local_flags"] = [flag for flag in flags if flags[flag]]

    def apply(self, data: dict[str, Any]) -> Peer:
        values = dict(data)
        if not self.adding:  # the client reports some of the others by itself
            values = {n: values[n] for n in self.changed_data if n in values}
        if "user" in values:
            user = values.pop("user")
            values["user_id"] = None if user is None else user.pk
        if "local_flags" in values:
            values["local_flags"] = self._flags(values["local_flags"])
        if self.adding:
            return peer_create(**values)
        return peer_update(peer_id=self.instance.pk, **values)

    def _flags(self, chosen: list[str]) -> dict[str, bool]:
        """Return the flags; those that were never set and are not now stay away."""
        flags = dict.fromkeys(self.instance.local_flags, False)
        return {**flags, **dict.fromkeys(chosen, True)}


@admin.register(Peer)
class PeerAdmin(PeerColumns, ServiceAdmin):
    """Peers: also the way to make some without the peer protocol."""

    form = PeerForm
    list_display = ["title", "state", "address", "owner", "location", "client"]
    list_filter = [
        PeerStateFilter,
        "connected",
        "approval_required",
        "login_expired",
        "ephemeral",
        "ssh_enabled",
        "country_code",
    ]
    list_select_related = ["user"]
    search_fields = [
        *("name", "ip", "ipv6", "dns_label", "hostname", "user__email", "=id")
    ]
    ordering = ["id"]
    readonly_fields = [
        "id",
        "dns_label",
        "setup_key_name",
        "created_at",
        "allow_extra_dns_labels",
        *_REPORTED,
        *_STATE,
    ]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the form's parts; a new peer has no state yet."""
        given = ("name", "wg_public_key", "ip", "ipv6", "user", "extra_dns_labels")
        parts: list[Any] = [
            (None, {"fields": given}),
            ("Machine", {"fields": _MACHINE}),
            ("Switches", {"fields": (*_SWITCHES, "local_flags")}),
        ]
        if obj is None:
            return parts
        made = ("id", "dns_label", "setup_key_name", "created_at")
        rights = ("allow_extra_dns_labels",)
        return [
            *parts,
            ("Reported by its client", {"fields": _REPORTED, "classes": ["collapse"]}),
            ("State", {"fields": (*made, *rights, *_STATE)}),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PeerList]:
        return PeerList

    def delete_object(self, instance: Peer) -> None:
        peer_delete(peer_id=instance.pk)

    @admin.display(description="network addresses")
    def addresses(self, peer: Peer) -> SafeString:
        """The addresses of the machine itself, with those of its interfaces."""
        rows = ((x["net_ip"], x["mac"] or "-") for x in peer.network_addresses)
        return format_html_join(mark_safe("<br>"), "{} ({})", rows)
