"""What the trail says of sign-ins, and of changes of the account, users and tokens."""

from typing import Any, Final

from events.activities import Activity
from events.audit import specs
from events.audit.changes import Change
from events.audit.emission import audit_record
from events.audit.specs import ActivityOf, AuditSpec, Meta, switched, switches
from meshmgmt.accounts.models import AccessToken, Account, User
from meshmgmt.core import clock, context
from meshmgmt.core.context import Actor

_SWITCHES: Final = {
    "peer_login_expiration_enabled": "account.setting.peer.login.expiration",
    "peer_inactivity_expiration_enabled": "account.peer.inactivity.expiration",
    "peer_approval_enabled": "account.setting.peer.approval",
    "groups_propagation_enabled": "account.setting.group.propagation",
    "routing_peer_dns_resolution_enabled": (
        "account.setting.routing.peer.dns.resolution"
    ),
    "peer_expose_enabled": "account.setting.peer.expose",
    "lazy_connection_enabled": "account.setting.lazy.connection",
    "auto_update_always": "account.setting.auto.update.always",
    "metrics_push_enabled": "account.setting.metrics.push",
    "local_mfa_enabled": "account.setting.local.mfa",
}

_VALUES: Final[dict[str, ActivityOf]] = {
    "peer_login_expiration": Activity.ACCOUNT_SETTING_PEER_LOGIN_EXPIRATION_UPDATE,
    "peer_inactivity_expiration": Activity.ACCOUNT_PEER_INACTIVITY_EXPIRATION_UPDATE,
    "dns_domain": Activity.ACCOUNT_DNS_DOMAIN_UPDATE,
    "default_dns_domain": Activity.ACCOUNT_DNS_DOMAIN_UPDATE,
    "network_range": Activity.ACCOUNT_NETWORK_RANGE_UPDATE,
    "network_range_v6": Activity.ACCOUNT_NETWORK_RANGE_UPDATE,
    "auto_update_version": Activity.ACCOUNT_SETTINGS_AUTO_VERSION_UPDATE,
}


def register() -> None:
    specs.register(
        AuditSpec(
            model=Account,
            created=Activity.ACCOUNT_CREATE,
            updated=Activity.ACCOUNT_SETTING_UPDATE,
            deleted=Activity.ACCOUNT_DELETE,
            fields={**switches(_SWITCHES), **_VALUES, "ipv6_enabled_groups": _ipv6},
            unaudited=frozenset({"only", "created_at", "created_by"}),
            update_meta=_account_update_meta,
        ),
        AuditSpec(
            model=User,
            created=_user_created,
            updated=Activity.USER_UPDATE,
            deleted=lambda change: (
                Activity.SERVICE_USER_DELETE
                if change.before["is_service_user"]
                else Activity.USER_DELETE
            ),
            fields={
                "role": Activity.USER_ROLE_UPDATE,
                "is_blocked": _user_blocked,
                "pending_approval": switched(
                    "pending_approval", Activity.USER_UPDATE, Activity.USER_APPROVE
                ),
                "password": Activity.USER_PASSWORD_CHANGE,
                "password_is_temporary": Activity.USER_PASSWORD_CHANGE,
            },
            # Which account of the provider is theirs is no detail of the user.
            unaudited=frozenset(
                {"email_key", "subject", "last_login", "sessions_ended", "created_at"}
            ),
            secret=frozenset({"password"}),
            meta=_user_meta,
            update_meta=_user_update_meta,
        ),
        AuditSpec(
            model=AccessToken,
            created=Activity.PERSONAL_ACCESS_TOKEN_CREATE,
            updated=Activity.PERSONAL_ACCESS_TOKEN_UPDATE,
            deleted=Activity.PERSONAL_ACCESS_TOKEN_DELETE,
            unaudited=frozenset({"last_used", "created_at", "created_by"}),
            secret=frozenset({"hash"}),
            meta=_token_meta,
            target=_token_target,
        ),
    )


def user_facts(user: User) -> Meta:
    """Return what every event about a user says of them."""
    return {"email": user.email, "username": user.name}


def record_about(user: User, activity: Activity, **more: Any) -> None:
    """Record what a user did, or what was done to them, that is no change of a row."""
    meta = {**user_facts(user), **more}
    audit_record(activity, target_id=user.pk, target_type="user", meta=meta)


def _ipv6(change: Change) -> Activity:
    """IPv6 is on while any group has it."""
    before = change.before.get("ipv6_enabled_groups")
    after = change.after["ipv6_enabled_groups"]
    if bool(before) == bool(after):
        return Activity.ACCOUNT_SETTING_UPDATE
    if after:
        return Activity.ACCOUNT_SETTING_IPV6_ENABLE
    return Activity.ACCOUNT_SETTING_IPV6_DISABLE


def _account_update_meta(change: Change, activity: str) -> Meta:
    if activity == Activity.ACCOUNT_DNS_DOMAIN_UPDATE:
        return _old_and_new(change, "dns_domain", "default_dns_domain")
    if activity == Activity.ACCOUNT_NETWORK_RANGE_UPDATE:
        return _old_and_new(change, "network_range", "network_range_v6")
    if activity == Activity.ACCOUNT_SETTINGS_AUTO_VERSION_UPDATE:
        return {"version": change.after["auto_update_version"]}
    return {}


def _old_and_new(change: Change, *names: str) -> Meta:
    meta: dict[str, Any] = {}
    for name in names:
        if change.changed(name):
            meta[f"old_{name}"] = change.before.get(name)
            meta[f"new_{name}"] = change.after[name]
    return meta


def _user_created(change: Change) -> Activity:
    if change.after["is_service_user"]:
        return Activity.SERVICE_USER_CREATE
    if change.after["issued"] == User.Issued.JWT:
        return Activity.USER_JOIN
    return Activity.USER_CREATE


def _user_blocked(change: Change) -> Activity:
    if change.after["is_blocked"]:
        return Activity.USER_BLOCK
    if change.changed("pending_approval"):  # approving unblocks: one event
        return Activity.USER_APPROVE
    return Activity.USER_UNBLOCK


def _user_meta(user: User) -> Meta:
    """Return the meta of creation and deletion."""
    meta = {**user_facts(user), "created_at": user.created_at}
    if user.is_service_user:
        return {**meta, "name": user.name}
    if user.pending_approval:
        meta["pending_approval"] = True
    return {**meta, "issued": user.issued}


def _user_update_meta(change: Change, activity: str) -> Meta:
    user = change.instance
    assert isinstance(user, User)
    if activity == Activity.USER_ROLE_UPDATE:
        return {**user_facts(user), "role": user.role}
    return user_facts(user)


def _token_meta(token: AccessToken) -> Meta:
    return {
        "id": token.pk,
        "name": token.name,
        "user_name": token.user.name,
        "is_service_user": token.user.is_service_user,
        **user_facts(token.user),
    }


def _token_target(change: Change, activity: str) -> str:
    token = change.instance
    assert isinstance(token, AccessToken)
    return token.user_id


def record_sign_in(user: User, **kwargs: Any) -> None:
    """Write `dashboard.login`, by and about the user who signed in."""
    code = Activity.DASHBOARD_LOGIN
    meta = {"timestamp": clock.now(), **user_facts(user)}
    with context.scope(actor=Actor(user.pk, user.name, user.email)):
        audit_record(code, target_id=user.pk, target_type="user", meta=meta)
