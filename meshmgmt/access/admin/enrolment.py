"""Pages of setup keys and auto-groups."""

from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.utils.safestring import SafeString

from meshmgmt.access.admin.fields import ReadOnlyAdmin, groups_field
from meshmgmt.access.admin.filters import SetupKeyStateFilter
from meshmgmt.access.enrolling import enrol_command
from meshmgmt.access.models import SetupKey, SetupKeyAutoGroup, UserAutoGroup
from meshmgmt.access.rules.setupkeys import state_of
from meshmgmt.access.services.setupkeys import setup_key_rotate, setup_keys
from meshmgmt.adminsite.bulk import BulkAction
from meshmgmt.adminsite.fields import DurationField
from meshmgmt.adminsite.look import badge
from meshmgmt.adminsite.pages import ServiceForm
from meshmgmt.adminsite.tokens import SecretPages
from meshmgmt.core import clock

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
        return badge(state_of(key, clock.now()))

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
