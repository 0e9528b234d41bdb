"""The one account: made when the database is set up, and its settings changed."""

import ipaddress
import random
from collections.abc import Mapping
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS

from events.models import AuditEvent
from meshmgmt.accounts import contributions
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.models.account import OVERLAY_RANGE, peers_domain
from meshmgmt.accounts.selectors import EXTRA_SETTINGS, SETTINGS
from meshmgmt.accounts.settingrules import (
    GROUP_LISTS,
    RANGES,
    canonical_settings,
    range_change_errors,
    settings_errors,
)
from meshmgmt.accounts.signals import propagation_begun, ranges_changed
from meshmgmt.core.context import SYSTEM, current, forget_account, scope
from meshmgmt.core.errors import FieldError, raise_field_errors
from meshmgmt.core.queries import tables_exist
from meshmgmt.core.textrules import not_found
from meshmgmt.core.transactions import account_write

_OTHERS: Final = ("default_dns_domain", "first_steps_dismissed")
WRITABLE: Final = frozenset({*SETTINGS, *EXTRA_SETTINGS, *_OTHERS})
DRAWN_PREFIX: Final = 16
"""Clients answer reverse look-ups for whole octets of the range alone."""


def stored_account_id() -> str:
    """Return the id of the account, "" when there is none yet."""
    return Account.objects.values_list("id", flat=True).first() or ""


def make_account(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the account unless it exists or its tables are not there yet."""
    forget_account()
    # Sent for each database and each app: not all tables need be there yet.
    if using == DEFAULT_DB_ALIAS and tables_exist(Account, AuditEvent):
        ensure_account()


def ensure_account() -> Account:
    """Return the account, made by the system when there is none.

    A new one has ranges of addresses that other deployments hardly have.
    """
    found = Account.objects.first()
    # Nearly always: no lock for that.
    if found is not None:
        return found
    with account_write():
        found = Account.objects.first()
        if found is None:
            with scope(actor=SYSTEM):
                found = Account.objects.create(
                    created_by=current().actor.id,
                    network_range=drawn_range(),
                    network_range_v6=drawn_range_v6(),
                )
    forget_account()
    return found


def drawn_range() -> str:
    """Return a network of the shared address space, drawn by chance."""
    parts = ipaddress.ip_network(OVERLAY_RANGE).subnets(new_prefix=DRAWN_PREFIX)
    return str(random.choice(list(parts)))  # noqa: S311 - no secret


def drawn_range_v6(seed: str | None = None) -> str:
    """Return a /64 of unique local addresses (RFC 4193, 3.1), always that of a `seed`."""
    prefix = 0xFD << 56 | random.Random(seed).getrandbits(56)  # noqa: S311 - no secret
    return str(ipaddress.IPv6Network((prefix << 64, 64)))


def range_for_groups(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the range that other groups with IPv6 bring to an account that has none.

    To be asked for what a client says, which need not know that one is needed, in the
    write that it is for.
    """
    account = ensure_account()
    groups = settings.get("ipv6_enabled_groups")
    same = not groups or sorted(groups) == sorted(account.ipv6_enabled_groups)
    if same or account.network_range_v6:
        return {}
    # The same each time: a write does what its plan said.
    return {"network_range_v6": drawn_range_v6(account.pk)}


def account_update(*, settings: dict[str, Any]) -> Account:
    """Change the given settings; what is not given keeps its value.

    Peers outside of a new range get other addresses; where propagation of groups begins,
    peers join the auto-groups of their owners and leave none. Raises InvalidArgument, also
    for a DNS domain that a zone has.
    """
    if unknown := settings.keys() - WRITABLE:
        raise ValueError(f"not settings of the account: {', '.join(sorted(unknown))}")
    with account_write():
        account = ensure_account()
        wanted = {name: getattr(account, name) for name in WRITABLE} | settings
        raise_field_errors(settings_errors(wanted))
        # Only right values have a canonical form, and rooms above compare by that.
        wanted = canonical_settings(wanted)
        errors = [
            FieldError(name, not_found("group", missing[0]))
            for name in GROUP_LISTS
            if (missing := contributions.unknown_groups.only(wanted[name]))
        ]
        # The one in use: either column may change without changing that.
        domain = peers_domain(wanted["dns_domain"], wanted["default_dns_domain"])
        if domain != account.peers_domain:
            errors += contributions.dns_domain_errors.only(domain)
        moved = [name for name in RANGES if wanted[name] != getattr(account, name)]
        # A range that stays is not judged, or nothing else could be changed beside it.
        for name in moved:
            errors += range_change_errors(name, wanted[name])
        raise_field_errors(errors)
        propagated = account.groups_propagation_enabled
        # All of them: what is the same as before is no change for the trail.
        for name, value in wanted.items():
            setattr(account, name, value)
        account.save()
        if moved:
            ranges_changed.send(sender=None, account=account)
        if account.groups_propagation_enabled and not propagated:
            propagation_begun.send(sender=None)
        return account
