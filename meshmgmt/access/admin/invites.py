"""Pages of invites."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.safestring import SafeString

from meshmgmt.access.admin.fields import groups_field
from meshmgmt.access.models import Invite, InviteAutoGroup
from meshmgmt.access.rules.invites import DEFAULT_LIFE, HOUR
from meshmgmt.access.selectors.invites import is_valid
from meshmgmt.access.services.invites import invite_create, invite_regenerate, invites
from meshmgmt.accounts.admin.forms import ByAdmin, ByForm
from meshmgmt.adminsite.bulk import refuse_too_many
from meshmgmt.adminsite.fields import DurationField
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.tokens import SecretPages
from meshmgmt.core.transactions import account_write


class InviteForm(ByForm):
    """A new invite; a stored one can be renewed or taken back, not changed."""

    field_names = {"expires_in": "hours"}
    resource = invites

    email = forms.CharField(label="E-mail address", required=False, strip=True)
    hours = DurationField(
        label="Good for",
        unit=HOUR,
        initial=DEFAULT_LIFE // HOUR,
        help_text="Such as 72 h.",
    )
    auto_groups = groups_field(
        InviteAutoGroup, help_text="Auto-groups that the user starts with."
    )

    def apply(self, data: dict[str, Any]) -> Invite:
        seconds = data.pop("hours") * HOUR
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
        *("id", "email", "name", "role", "groups", "created_at", "expires_at", "valid"),
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

    @admin.display(description="state", ordering="expires_at")
    def valid(self, invite: Invite) -> SafeString:
        """Whether the link can be used."""
        return badge("valid" if is_valid(invite) else "expired")

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
