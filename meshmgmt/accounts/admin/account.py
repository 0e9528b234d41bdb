"""Admin page of the account."""

from typing import Any

from django import forms
from django.contrib import admin

from meshmgmt.accounts import contributions
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.services.account import account_update, range_for_groups
from meshmgmt.accounts.settingrules import GROUP_LISTS
from meshmgmt.adminsite.fields import DurationField, LinesField, OrderedListField
from meshmgmt.adminsite.pages import OneRowAdmin, ServiceForm
from meshmgmt.core.transactions import account_write


class AccountForm(ServiceForm):
    """The settings."""

    peer_login_expiration = DurationField(help_text="Such as 90 days or 24 h.")
    peer_inactivity_expiration = DurationField(help_text="Such as 7 days or 10 min.")
    jwt_allow_groups = LinesField(
        label="JWT allow groups", help_text="One name per line."
    )
    # Empty after a change of all settings that names none.
    auto_update_version = forms.CharField(required=False)

    class Meta:
        model = Account
        exclude = ["domain", "domain_category"]
        labels = {
            "network_range_v6": "Network range IPv6",
            "local_mfa_enabled": "Local MFA enabled",
        }
        field_classes = {
            "dns_domain": forms.CharField,
            "network_range": forms.CharField,
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in self.fields.keys() & set(GROUP_LISTS):  # all, or to be read
            self.fields[name] = OrderedListField(
                contributions.auto_group_column.only, label=self.fields[name].label
            )

    def apply(self, data: dict[str, Any]) -> Account:
        """Change what differs; a range of IPv6 that is left empty is not said."""
        with account_write():
            drawn = {} if data["network_range_v6"] else range_for_groups(data)
            return account_update(settings=data | drawn)


@admin.register(Account)
class AccountAdmin(OneRowAdmin):
    """The settings of the one account, which goes with the database."""

    form = AccountForm
    readonly_fields = ["id", "created_at", "created_by"]
