"""The activities of the audit trail: machine-readable code and our text for people.

The codes are those of the seed (section Events) and of the reference API; clients match on
them, so they never change. `user.update`, `peer.update`, `account.setting.update`,
`dns.setting.update`, `event.subscription.*`, `group.order.update`, `log.level.update`,
`personal.access.token.update`, `user.invite.link.update`, `user.password.fail`,
`access_test.*` and `audit.*` are ours: they name what the reference has no code for.
"""

from typing import Final

from django.db import models


class Activity(models.TextChoices):
    """The activities that this service writes and names, each with its description."""

    ACCESS_TEST_CREATE = "access_test.create", "An access test was created"
    ACCESS_TEST_DELETE = "access_test.delete", "An access test was deleted"
    ACCESS_TEST_FAIL = "access_test.fail", "An access test failed"
    ACCESS_TEST_PASS = "access_test.pass", "An access test passes again"
    ACCESS_TEST_UPDATE = "access_test.update", "An access test was changed"
    ACCOUNT_CREATE = "account.create", "The account was created"
    ACCOUNT_DELETE = "account.delete", "The account was deleted"
    ACCOUNT_DNS_DOMAIN_UPDATE = (
        "account.dns.domain.update",
        "The peers' DNS domain was changed",
    )
    ACCOUNT_NETWORK_RANGE_UPDATE = (
        "account.network.range.update",
        "The account's network range was changed",
    )
    ACCOUNT_PEER_INACTIVITY_EXPIRATION_UPDATE = (
        "account.peer.inactivity.expiration.update",
        "The period of peer inactivity expiration was changed",
    )
    ACCOUNT_SETTING_IPV6_DISABLE = (
        "account.setting.ipv6.disable",
        "IPv6 in the overlay was switched off",
    )
    ACCOUNT_SETTING_IPV6_ENABLE = (
        "account.setting.ipv6.enable",
        "IPv6 in the overlay was switched on",
    )
    ACCOUNT_SETTING_PEER_LOGIN_EXPIRATION_UPDATE = (
        "account.setting.peer.login.expiration.update",
        "The period of peer login expiration was changed",
    )
    ACCOUNT_SETTING_UPDATE = "account.setting.update", "An account setting was changed"
    ACCOUNT_SETTINGS_AUTO_VERSION_UPDATE = (
        "account.settings.auto.version.update",
        "The automatic update version was changed",
    )
    AUDIT_CLOCK_BACK = "audit.clock.back", "The clock was set back"
    AUDIT_KEY_CREATE = "audit.key.create", "A key that signs the audit trail was made"
    AUDIT_KEY_ROTATE = (
        "audit.key.rotate",
        "The key that signs the audit trail was replaced",
    )
    AUDIT_PRUNE = "audit.prune", "Audit events past their retention were removed"
    AUDIT_RESTORE_ACCEPT = (
        "audit.restore.accept",
        "An audit trail older than its published tree heads was accepted",
    )
    DASHBOARD_LOGIN = "dashboard.login", "A user signed in to the dashboard"
    DNS_SETTING_DISABLED_MANAGEMENT_GROUP_ADD = (
        "dns.setting.disabled.management.group.add",
        "DNS management was disabled for a group",
    )
    DNS_SETTING_DISABLED_MANAGEMENT_GROUP_DELETE = (
        "dns.setting.disabled.management.group.delete",
        "DNS management was enabled again for a group",
    )
    DNS_SETTING_UPDATE = "dns.setting.update", "The DNS settings were changed"
    DNS_ZONE_CREATE = "dns.zone.create", "A DNS zone was created"
    DNS_ZONE_DELETE = "dns.zone.delete", "A DNS zone was deleted"
    DNS_ZONE_RECORD_CREATE = "dns.zone.record.create", "A DNS record was created"
    DNS_ZONE_RECORD_DELETE = "dns.zone.record.delete", "A DNS record was deleted"
    DNS_ZONE_RECORD_UPDATE = "dns.zone.record.update", "A DNS record was changed"
    DNS_ZONE_UPDATE = "dns.zone.update", "A DNS zone was changed"
    EVENT_SUBSCRIPTION_CREATE = (
        "event.subscription.create",
        "A subscription to events was created",
    )
    EVENT_SUBSCRIPTION_DELETE = (
        "event.subscription.delete",
        "A subscription to events was deleted",
    )
    EVENT_SUBSCRIPTION_REPLAY = (
        "event.subscription.replay",
        "Events were sent again to a subscriber",
    )
    EVENT_SUBSCRIPTION_REPLAY_STOP = (
        "event.subscription.replay.stop",
        "Sending events again to a subscriber was stopped",
    )
    EVENT_SUBSCRIPTION_SECRET = (
        "event.subscription.secret",
        "A subscription to events got a new secret",
    )
    EVENT_SUBSCRIPTION_TEST = (
        "event.subscription.test",
        "A subscription to events was tried out",
    )
    EVENT_SUBSCRIPTION_UPDATE = (
        "event.subscription.update",
        "A subscription to events was changed",
    )
    GROUP_ADD = "group.add", "A group was created"
    GROUP_DELETE = "group.delete", "A group was deleted"
    GROUP_ORDER_UPDATE = "group.order.update", "A group's members were reordered"
    GROUP_UPDATE = "group.update", "A group was renamed"
    LOG_LEVEL_UPDATE = "log.level.update", "The log level of a server was changed"
    NAMESERVER_GROUP_ADD = "nameserver.group.add", "A nameserver group was created"
    NAMESERVER_GROUP_DELETE = (
        "nameserver.group.delete",
        "A nameserver group was deleted",
    )
    NAMESERVER_GROUP_UPDATE = (
        "nameserver.group.update",
        "A nameserver group was changed",
    )
    NETWORK_CREATE = "network.create", "A network was created"
    NETWORK_DELETE = "network.delete", "A network was deleted"
    NETWORK_RESOURCE_CREATE = (
        "network.resource.create",
        "A network resource was created",
    )
    NETWORK_RESOURCE_DELETE = (
        "network.resource.delete",
        "A network resource was deleted",
    )
    NETWORK_RESOURCE_UPDATE = (
        "network.resource.update",
        "A network resource was changed",
    )
    NETWORK_ROUTER_CREATE = "network.router.create", "A network router was created"
    NETWORK_ROUTER_DELETE = "network.router.delete", "A network router was deleted"
    NETWORK_ROUTER_UPDATE = "network.router.update", "A network router was changed"
    NETWORK_UPDATE = "network.update", "A network was changed"
    PEER_APPROVAL_REVOKE = "peer.approval.revoke", "A peer's approval was withdrawn"
    PEER_APPROVE = "peer.approve", "A peer was approved"
    PEER_GROUP_ADD = "peer.group.add", "A peer was added to a group"
    PEER_GROUP_DELETE = "peer.group.delete", "A peer was removed from a group"
    PEER_IP_UPDATE = "peer.ip.update", "A peer's address was changed"
    PEER_JOB_CREATE = "peer.job.create", "A job was created for a peer"
    PEER_LOGIN_EXPIRE = "peer.login.expire", "A peer's login expired"
    PEER_RENAME = "peer.rename", "A peer was renamed"
    PEER_SETUPKEY_ADD = "peer.setupkey.add", "A setup key enrolled a peer"
    PEER_UPDATE = "peer.update", "A peer's details were changed"
    PEER_USER_ADD = "peer.user.add", "A user enrolled a peer"
    PERSONAL_ACCESS_TOKEN_CREATE = (
        "personal.access.token.create",
        "An access token was created",
    )
    PERSONAL_ACCESS_TOKEN_DELETE = (
        "personal.access.token.delete",
        "An access token was revoked",
    )
    PERSONAL_ACCESS_TOKEN_UPDATE = (
        "personal.access.token.update",
        "An access token ends sooner",
    )
    POLICY_ADD = "policy.add", "A policy was created"
    POLICY_DELETE = "policy.delete", "A policy was deleted"
    POLICY_UPDATE = "policy.update", "A policy was changed"
    POSTURE_CHECK_CREATE = "posture.check.create", "A posture check was created"
    POSTURE_CHECK_DELETE = "posture.check.delete", "A posture check was deleted"
    POSTURE_CHECK_UPDATE = "posture.check.update", "A posture check was changed"
    RESOURCE_GROUP_ADD = "resource.group.add", "A resource was added to a group"
    RESOURCE_GROUP_DELETE = (
        "resource.group.delete",
        "A resource was removed from a group",
    )
    ROUTE_ADD = "route.add", "A route was created"
    ROUTE_DELETE = "route.delete", "A route was deleted"
    ROUTE_UPDATE = "route.update", "A route was changed"
    RULE_ADD = "rule.add", "A policy rule was created"
    RULE_DELETE = "rule.delete", "A policy rule was deleted"
    RULE_UPDATE = "rule.update", "A policy rule was changed"
    SERVICE_USER_CREATE = "service.user.create", "A service user was created"
    SERVICE_USER_DELETE = "service.user.delete", "A service user was deleted"
    SETUPKEY_ADD = "setupkey.add", "A setup key was created"
    SETUPKEY_DELETE = "setupkey.delete", "A setup key was deleted"
    SETUPKEY_GROUP_ADD = (
        "setupkey.group.add",
        "A group was added to a setup key's auto-groups",
    )
    SETUPKEY_GROUP_DELETE = (
        "setupkey.group.delete",
        "A group was removed from a setup key's auto-groups",
    )
    SETUPKEY_REVOKE = "setupkey.revoke", "A setup key was revoked"
    SETUPKEY_UPDATE = "setupkey.update", "A setup key was changed"
    TRANSFERRED_OWNER_ROLE = "transferred.owner.role", "The owner role was handed over"
    USER_APPROVE = "user.approve", "A pending user was approved"
    USER_BLOCK = "user.block", "A user was blocked"
    USER_CREATE = "user.create", "A user was created"
    USER_DELETE = "user.delete", "A user was deleted"
    USER_GROUP_ADD = "user.group.add", "A group was added to a user's auto-groups"
    USER_GROUP_DELETE = (
        "user.group.delete",
        "A group was removed from a user's auto-groups",
    )
    USER_INVITE_LINK_ACCEPT = "user.invite.link.accept", "An invite link was accepted"
    USER_INVITE_LINK_CREATE = "user.invite.link.create", "An invite link was created"
    USER_INVITE_LINK_DELETE = "user.invite.link.delete", "An invite link was deleted"
    USER_INVITE_LINK_REGENERATE = (
        "user.invite.link.regenerate",
        "An invite link was renewed",
    )
    USER_INVITE_LINK_UPDATE = "user.invite.link.update", "An invite was changed"
    USER_JOIN = "user.join", "A user joined the account"
    USER_PASSWORD_CHANGE = "user.password.change", "A user's password was changed"
    USER_PASSWORD_FAIL = "user.password.fail", "A wrong password was given for a user"
    USER_PEER_DELETE = "user.peer.delete", "A peer was deleted"
    USER_PEER_LOGIN = "user.peer.login", "A user signed in on a peer"
    USER_PEER_SESSION_EXTEND = (
        "user.peer.session.extend",
        "A user prolonged a peer's session",
    )
    USER_REJECT = "user.reject", "A pending user was rejected"
    USER_ROLE_UPDATE = "user.role.update", "A user's role was changed"
    USER_UNBLOCK = "user.unblock", "A user was unblocked"
    USER_UPDATE = "user.update", "A user's details were changed"


_SWITCHES: Final = """\
account.peer.inactivity.expiration Peer inactivity expiration was
account.setting.auto.update.always Forced automatic updates were
account.setting.group.propagation Group propagation was
account.setting.lazy.connection Lazy connections were
account.setting.local.mfa Multi-factor sign-in was
account.setting.metrics.push Pushing metrics was
account.setting.peer.approval Peer approval was
account.setting.peer.expose Exposing services from peers was
account.setting.peer.login.expiration Peer login expiration was
account.setting.routing.peer.dns.resolution DNS resolution on routing peers was
peer.inactivity.expiration Inactivity expiration of a peer was
peer.login.expiration Login expiration of a peer was
peer.ssh The SSH server of a peer was
"""
SWITCHES: Final = dict(line.split(" ", 1) for line in _SWITCHES.splitlines())
"""What is switched with `<code>.enable` and `<code>.disable`, by code."""

_NEVER_WRITTEN: Final = """\
agent_network.budget_rule.create An agent network budget rule was created
agent_network.budget_rule.delete An agent network budget rule was deleted
agent_network.budget_rule.update An agent network budget rule was changed
agent_network.guardrail.create An agent network guardrail was created
agent_network.guardrail.delete An agent network guardrail was deleted
agent_network.guardrail.update An agent network guardrail was changed
agent_network.policy.create An agent network policy was created
agent_network.policy.delete An agent network policy was deleted
agent_network.policy.update An agent network policy was changed
agent_network.provider.create An agent network provider was created
agent_network.provider.delete An agent network provider was deleted
agent_network.provider.update An agent network provider was changed
agent_network.settings.delete The agent network settings were deleted
agent_network.settings.update The agent network settings were changed
domain.add A proxy domain was added
domain.delete A proxy domain was deleted
domain.validate A proxy domain was validated
identityprovider.create An identity provider was created
identityprovider.delete An identity provider was deleted
identityprovider.update An identity provider was changed
integration.create An integration was created
integration.delete An integration was deleted
integration.update An integration was changed
service.create A proxy service was created
service.delete A proxy service was deleted
service.peer.expose A peer exposed a service
service.peer.expose.expire A service exposed by a peer expired
service.peer.unexpose A peer withdrew an exposed service
service.update A proxy service was changed
setupkey.overuse A setup key was used too often
user.invite A user was invited
"""
"""Codes of the contract that nothing here writes, each before its description."""

_ALL: Final = {
    **{activity.value: str(activity.label) for activity in Activity},
    **{f"{code}.enable": f"{what} switched on" for code, what in SWITCHES.items()},
    **{f"{code}.disable": f"{what} switched off" for code, what in SWITCHES.items()},
    **dict(line.split(" ", 1) for line in _NEVER_WRITTEN.splitlines()),
}
LABELS: Final = dict(sorted(_ALL.items()))
"""What people call an activity, by its code: all codes that the API knows."""
