"""Writes on the account's settings."""

from typing import Any, Final

from meshmgmt.accounts.models import Account
from meshmgmt.accounts.registries import dns_domain_errors, unknown_groups
from meshmgmt.accounts.selectors import EXTRA_SETTINGS, SETTINGS
from meshmgmt.accounts.settingrules import (
    GROUP_LISTS,
    canonical_settings,
    settings_errors,
    unknown_group_errors,
)
from meshmgmt.accounts.setup import ensure_account
from meshmgmt.core.errors import raise_field_errors
from meshmgmt.core.transactions import account_write

WRITABLE: Final = frozenset({*SETTINGS, *EXTRA_SETTINGS})


def account_update(*, settings: dict[str, Any]) -> Account:
    """Change the given settings; what is not given keeps its value.

    Raises InvalidArgument, or Conflict for a DNS domain that a zone has.
    """
    if unknown := settings.keys() - WRITABLE:
        raise ValueError(f"not settings of the account: {', '.join(sorted(unknown))}")
    with account_write():
        account = ensure_account()
        wanted = {name: getattr(account, name) for name in WRITABLE} | settings
        raise_field_errors(settings_errors(wanted))
        wanted = canonical_settings(wanted)
        errors = [
            error
            for name in GROUP_LISTS
            for error in unknown_group_errors(name, unknown_groups(wanted[name]))
        ]
        if wanted["dns_domain"] != account.dns_domain:
            errors += dns_domain_errors(wanted["dns_domain"])
        raise_field_errors(errors)
        for name, value in wanted.items():
            setattr(account, name, value)
        account.save()
        return account
