"""How access objects and account settings refer to groups; see `groups.references`.

Everything that only hands out memberships (keys, users, invites) just loses the group.
Lists that restrict switch their object off when they become empty: an empty list of
access control groups, for one, would open a route to everybody.
"""

from typing import Any

from groups import references
from groups.references import JsonReference, ListReference
from meshmgmt.access import models
from meshmgmt.access.services.removal import disable_policies_without_rules
from meshmgmt.accounts.models import Account


def register() -> None:
    references.register(
        *(
            ListReference(
                link=link,
                kind="policy_rule",
                switch="enabled",
                named=_rule_name,
                related=("policy",),
                turned_off=disable_policies_without_rules,
            )
            for link in (
                models.RuleSource,
                models.RuleDestination,
                models.RuleAuthorizedGroup,
            )
        ),
        *(
            ListReference(link=link, kind="route", switch="enabled")
            for link in (
                models.RouteGroup,
                models.RoutePeerGroup,
                models.RouteAccessControlGroup,
            )
        ),
        ListReference(
            link=models.RouterPeerGroup,
            kind="network_router",
            switch="enabled",
            named=_router_name,
            related=("network",),
        ),
        ListReference(link=models.UserAutoGroup, kind="user"),
        ListReference(link=models.InviteAutoGroup, kind="invite"),
        ListReference(link=models.SetupKeyAutoGroup, kind="setup_key"),
        *(
            JsonReference(
                holder=Account,
                column=column,
                kind="account_setting",
                switch=switch,
                named=_setting_name,
            )
            for column, switch in (
                # An empty list means the traffic of every peer.
                ("network_traffic_logs_groups", "network_traffic_logs_enabled"),
                ("peer_expose_groups", "peer_expose_enabled"),
                # Empty it gives nobody an address, so there is nothing to switch off.
                ("ipv6_enabled_groups", ""),
            )
        ),
    )


def _rule_name(rule: Any) -> str:
    return f"{rule.policy.name} / {rule.name}"


def _router_name(router: Any) -> str:
    return f"router of {router.network.name}"


def _setting_name(account: Any) -> str:
    return "account settings"
