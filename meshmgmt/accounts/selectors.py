"""What the API shows of users, tokens and the account. Few queries, whatever the size."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from meshmgmt.accounts import contributions
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.accounts.models.account import peers_domain
from meshmgmt.accounts.oidc.configured import provider_id
from meshmgmt.core import clock
from meshmgmt.core.queries import Prepared, columns_of, loaded, narrowed
from meshmgmt.core.resources import Row
from meshmgmt.core.roles import Operation, Role, allowed, permissions_of

NEVER: Final = "0001-01-01T00:00:00Z"
"""What clients of the reference API know as "not yet" (the zero time of Go)."""

_USER_FIELDS: Final = (
    *("id", "email", "name", "role", "is_service_user", "is_blocked"),
    *("pending_approval", "last_login", "issued", "subject"),
)

EXTRA_SETTINGS: Final = (
    "peer_approval_enabled",
    "user_approval_required",
    "network_traffic_logs_enabled",
    "network_traffic_logs_groups",
    "network_traffic_packet_counter_enabled",
)

SETTINGS: Final = (
    "peer_login_expiration_enabled",
    "peer_login_expiration",
    "peer_inactivity_expiration_enabled",
    "peer_inactivity_expiration",
    "regular_users_view_blocked",
    "groups_propagation_enabled",
    "jwt_groups_enabled",
    "jwt_groups_claim_name",
    "jwt_allow_groups",
    "routing_peer_dns_resolution_enabled",
    "dns_domain",
    "network_range",
    "network_range_v6",
    "peer_expose_enabled",
    "peer_expose_groups",
    "lazy_connection_enabled",
    "auto_update_version",
    "auto_update_always",
    "ipv6_enabled_groups",
    "metrics_push_enabled",
    "local_auth_disabled",
    "local_mfa_enabled",
)


def user_rows(
    viewer: User, ids: Sequence[str] | None = None, *, service_users: bool | None = None
) -> list[Row]:
    """Return the users that `viewer` may see: all, or only the viewer.

    `service_users` keeps service users (True) or people (False) alone.
    """
    users = User.objects.order_by("id")
    everybody = allowed(viewer.role, "users", Operation.READ)
    if not everybody:
        users = users.filter(pk=viewer.pk)
    if service_users is not None:
        users = users.filter(is_service_user=service_users)
    found = list(narrowed(users, ids).values(*_USER_FIELDS))
    if not found:
        return []
    # Thousands of ids in a statement cost more than reading all lists.
    many = everybody and ids is None
    chosen = None if many else [row["id"] for row in found]
    groups = contributions.auto_groups.only(chosen)
    restricted = _regular_users_are_restricted()
    return [_user_row(row, groups, viewer, restricted=restricted) for row in found]


def shown_of(user: User) -> tuple[Any, ...]:
    """Return what is shown of a user themselves, their last sign-in included."""
    return tuple(getattr(user, name) for name in _USER_FIELDS)


def current_user_row(viewer: User) -> Row:
    """Return the user who asks, with what they may do."""
    values = dict(zip(_USER_FIELDS, shown_of(viewer), strict=True))
    groups = contributions.auto_groups.only([viewer.pk])
    restricted = _regular_users_are_restricted()
    return _user_row(values, groups, viewer, restricted=restricted)


def _regular_users_are_restricted() -> bool:
    return any(blocked for (blocked,) in _VIEW_BLOCKED.rows())


_VIEW_BLOCKED: Final = Prepared(
    lambda: Account.objects.values_list("regular_users_view_blocked")
)


def _user_row(
    row: Row, groups: Mapping[str, Sequence[str]], viewer: User, *, restricted: bool
) -> Row:
    # Stored as issuer|subject: the subjects of two providers may be the same.
    issuer, _, subject = (row.pop("subject") or "").partition("|")
    active = not row["is_blocked"] and not row["pending_approval"]
    return {
        **row,
        "status": "active" if active else "blocked",
        "auto_groups": list(groups.get(row["id"], ())),
        "is_current": row["id"] == viewer.pk,
        "last_login": clock.rfc3339(row["last_login"]) or NEVER,
        "permissions": {
            "is_restricted": restricted and row["role"] == Role.USER,
            "modules": permissions_of(row["role"]),
        },
        **({"idp_id": provider_id(issuer)} if subject else {}),
    }


def token_rows(user_id: str, ids: Sequence[str] | None = None) -> list[Row]:
    """Return tokens of a user; `last_used` is absent until the first use."""
    tokens = AccessToken.objects.filter(user_id=user_id).order_by("id")
    return [_token_row(token) for token in narrowed(tokens, ids)]


def _token_row(token: AccessToken) -> Row:
    row = {
        "id": token.pk,
        "name": token.name,
        "expiration_date": token.expires_at,
        "created_by": token.created_by,
        "created_at": token.created_at,
    }
    return row if token.last_used is None else {**row, "last_used": token.last_used}


_ACCOUNTS: Final = Prepared(lambda: Account.objects.values_list(*columns_of(Account)))


def stored_account() -> Account | None:
    """Return the account as it is now, None before the set-up."""
    return next((loaded(Account, row) for row in _ACCOUNTS.rows()), None)


def the_account() -> Account:
    """Return the account as it is now. Raises Account.DoesNotExist before the set-up."""
    account = stored_account()
    if account is None:
        raise Account.DoesNotExist
    return account


def account_domain() -> str:
    """Return the domain of the peers' own names, "" before there is an account."""
    columns = Account.objects.values_list("dns_domain", "default_dns_domain").first()
    return peers_domain(*columns) if columns else ""


def account_rows() -> list[Row]:
    """Return the account, as the list of one that clients expect."""
    return [
        {
            "id": account.pk,
            "domain": account.domain,
            "domain_category": account.domain_category,
            "created_at": account.created_at,
            "created_by": account.created_by,
            "settings": _settings(account),
            # This service has no sign-up and no guided first steps.
            "onboarding": {
                "onboarding_flow_pending": False,
                "signup_form_pending": False,
            },
        }
        for account in (loaded(Account, row) for row in _ACCOUNTS.rows())
    ]


def _settings(account: Account) -> Row:
    return {
        **{name: getattr(account, name) for name in SETTINGS},
        # Parts of the reference implementation that this service does not have.
        "agent_network_only": False,
        "embedded_idp_enabled": False,
        "extra": {name: getattr(account, name) for name in EXTRA_SETTINGS},
    }
