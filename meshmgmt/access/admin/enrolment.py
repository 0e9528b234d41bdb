"""Pages of setup keys, auto-groups and invites, and the command that enrols a machine."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import admin
from django.db.models import F, Model, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from meshmgmt.access.admin.fields import ReadOnlyAdmin, groups_field
from meshmgmt.access.models import (
    Invite,
    InviteAutoGroup,
    SetupKey,
    SetupKeyAutoGroup,
    UserAutoGroup,
)
from meshmgmt.access.rules import enrolment as rules
from meshmgmt.access.services.enrolment import (
    invite_create,
    invite_regenerate,
    invites,
    setup_key_rotate,
    setup_keys,
)
from meshmgmt.accounts.admin.forms import ByAdmin, ByForm
from meshmgmt.adminsite.bulk import BulkAction, refuse_too_many
from meshmgmt.adminsite.fields import DurationField
from meshmgmt.adminsite.filters import EndFilter, StateFilter
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.pages import ServiceForm
from meshmgmt.adminsite.tokens import SecretPages
from meshmgmt.core import clock
from meshmgmt.core.transactions import account_write


class SetupKeyStateFilter(StateFilter):
    """The states of setup keys, and those that are good but not for long."""

    @classmethod
    def states(cls) -> Mapping[str, Q]:
        """Return the states as `state_of` tells them, the first that holds."""
        ends = EndFilter.states()
        used_up = Q(usage_limit__gt=0, used_times__gte=F("usage_limit"))
        usable = Q(revoked=False) & ~used_up
        return {
            rules.VALID: ends["valid"] & usable,
            "about_to_end": ends["about_to_end"] & usable,
            rules.EXPIRED: ends["expired"],
            rules.REVOKED: ends["valid"] & Q(revoked=True),
            rules.OVERUSED: ends["valid"] & Q(revoked=False) & used_up,
        }


_DAY = 24 * 60 * 60


class SetupKeyForm(ServiceForm):
    """A setup key; once made, only its groups and its revocation can be changed."""

    field_names = {"expires_in": "days"}
    resource = setup_keys

    days = DurationField(
        label="Good for",
        unit=_DAY,
        initial=30,
        help_text="Such as 90 days; 0: for ever.",
    )
    auto_groups = groups_field(
        SetupKeyAutoGroup, help_text="Peers enrolled by the key join these groups."
    )

    def apply(self, data: dict[str, Any]) -> Model:
        if self.adding:
            data["expires_in"] = data.pop("days") * _DAY
        return super().apply(data)


@admin.register(SetupKey)
class SetupKeyAdmin(SecretPages):
    form = SetupKeyForm
    list_display = [
        *("name", "masked", "type", "state", "used_times", "usage_limit"),
        *("expires_at", "last_used"),
    ]
    list_filter = [SetupKeyStateFilter, "type", "revoked", "ephemeral"]
    search_fields = ["name", "key_prefix", "=id"]
    search_help_text = "A name, or a pasted key, which leads to what is known of it."
    hash_column = "key_hash"
    rotates = True
    bulk = (
        BulkAction(
            *("revoke", "Revoke", "revoked"),
            lambda _, request, key: setup_keys.update(key.pk, {"revoked": True}),
            lambda key: not key.revoked,
        ),
    )
    new_fields = [
        *("name", "type", "days", "usage_limit"),
        *("ephemeral", "allow_extra_dns_labels", "auto_groups"),
    ]
    _made = (
        *("id", "masked", "state", "name", "type", "expires_at", "usage_limit"),
        *("used_times", "last_used", "ephemeral", "allow_extra_dns_labels"),
        *("created_at", "updated_at"),
    )
    fields = ["revoked", "auto_groups", *_made]
    fixed = [*_made, "days"]

    @admin.display(description="state")
    def state(self, key: SetupKey) -> SafeString:
        return badge(rules.state_of(key, clock.now()))

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """Show a key just made, this once."""
        if obj.plain:
            self.show_secret(request, "The key", obj.plain)
            if command := enrol_command(request, obj.plain):
                self.show_secret(request, "The command that enrols", command)

    def rotate(self, request: HttpRequest, instance: SetupKey, *, at_once: bool) -> str:
        return setup_key_rotate(key_id=instance.pk, at_once=at_once).plain


@admin.register(UserAutoGroup)
class UserAutoGroupAdmin(ReadOnlyAdmin):
    """Auto-groups of users, to look at; they are changed on the page of the user."""

    list_display = ["user", "group", "position"]
    list_select_related = ["user", "group"]
    search_fields = ["user__email", "user__name", "group__name"]
    ordering = ["user", "position"]


class InviteForm(ByForm):
    """A new invite; a stored one can be renewed or taken back, not changed."""

    field_names = {"expires_in": "hours"}
    resource = invites

    email = forms.CharField(label="E-mail address", required=False, strip=True)
    hours = DurationField(
        label="Good for",
        unit=rules.HOUR,
        initial=rules.DEFAULT_LIFE // rules.HOUR,
        help_text="Such as 72 h.",
    )
    auto_groups = groups_field(
        InviteAutoGroup, help_text="Auto-groups that the user starts with."
    )

    def apply(self, data: dict[str, Any]) -> Invite:
        seconds = data.pop("hours") * rules.HOUR
        return invite_create(by=self.by, expires_in=seconds, **data)


@admin.register(Invite)
class InviteAdmin(SecretPages, ByAdmin):
    """Invites that wait to be accepted."""

    form = InviteForm
    list_display = ["email", "name", "role", "created_at", "expires_at", "valid"]
    list_filter = ["role"]
    search_fields = ["email", "name", "=id"]
    search_help_text = "A name, or a pasted link, which leads to its invite."
    hash_column = "token_hash"
    actions = ["renew"]
    new_fields = ["email", "name", "role", "auto_groups", "hours"]
    fields = [
        *("id", "email", "name", "role", "groups", "created_at", "expires_at", "valid")
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invite]:
        """Leave out those that were accepted: they are users."""
        every: QuerySet[Invite] = super().get_queryset(request)
        return every.filter(accepted_by="")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Refuse: another link is made by the action of the list."""
        return False

    def has_renew_permission(self, request: HttpRequest) -> bool:
        """Let those make links who may change invites."""
        return super().has_change_permission(request)

    @admin.display(description="auto-groups")
    def groups(self, invite: Invite) -> str:
        links = invite.auto_group_links.select_related("group")
        return ", ".join(link.group.name for link in links)

    @admin.action(
        description="Make other links for selected invites", permissions=["renew"]
    )
    def renew(self, request: HttpRequest, chosen: QuerySet[Invite]) -> None:
        """Make links and show them, this once; the old ones end."""
        refuse_too_many(chosen)
        with account_write():
            # Read under the lock: what was accepted meanwhile is not among them.
            made = [invite_regenerate(invite_id=invite.pk) for invite in chosen]
        # After the write, whose end may refuse it: a link that is shown is good.
        for one in made:
            self._show(request, one)

    def _show(self, request: HttpRequest, made: Invite) -> None:
        path = reverse("invite-page", kwargs={"token": made.token})
        what = f"The link for {made.email}"
        self.show_secret(request, what, request.build_absolute_uri(path))

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: Any
    ) -> None:
        """Show the link just made, this once."""
        self._show(request, obj)


def enrol_command(request: HttpRequest, key: str) -> str:
    """Return the client's command for a setup key; "" where peers are not served."""
    if not settings.SVC.grpc_bind:
        return ""
    return f"netbird up --management-url {peers_url(request)} --setup-key {key}"


def peers_url(request: HttpRequest) -> str:
    """Return where peers connect: beside the API where a proxy has TLS, else the port."""
    if request.is_secure():
        return f"https://{request.get_host()}"
    host = urlsplit(f"//{request.get_host()}").hostname or ""
    port = settings.SVC.grpc_bind.rpartition(":")[2]
    scheme = "https" if settings.SVC.grpc_certificate else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
