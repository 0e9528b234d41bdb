"""Puts a snapshot together: all of it, or what was touched since an earlier one.

Peers, members of groups and records are many and read by what was touched; everything
else is read anew each time.
"""

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from django.conf import settings

from meshmgmt.access.models import PostureCheck as StoredCheck
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.oidc.configured import audience, is_configured, provider
from meshmgmt.control.loading import rows, statements
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.names import canonical
from meshmgmt.netmap.snapshot import JwtConfig, PostureCheck, Settings, Snapshot

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Touched:
    """Ids of what a change touched; `small` tables are no concern of it."""

    peers: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()

    def __or__(self, other: "Touched") -> "Touched":
        return Touched(
            self.peers | other.peers,
            self.groups | other.groups,
            self.zones | other.zones,
        )


def load(previous: Snapshot | None = None, touched: Touched | None = None) -> Snapshot:
    """Read the account; with `previous` only what was touched since of the big tables.

    At most 13 queries, whatever the size; to be called in one `read_snapshot()`.
    """
    everything = previous is None or touched is None
    chosen = Touched() if touched is None else touched
    lists, logins, everybody = _lists()
    peers = {
        row[0]: rows.peer(row)
        for row in statements.peers(None if everything else sorted(chosen.peers))
    }
    members = _grouped(
        statements.members(None if everything else sorted(chosen.groups))
    )
    records = rows.zone_records(
        statements.records(None if everything else sorted(chosen.zones))
    )
    if previous is not None and not everything:
        before = {zone.id: zone.records for zone in previous.zones}
        peers = _renewed(previous.peers, chosen.peers, peers)
        members = _renewed(previous.members, chosen.groups, members)
        records = _renewed(before, chosen.zones, records)
    return Snapshot(
        settings=_settings(),
        peers=peers,
        members=members,
        everybody=everybody,
        users=rows.users(statements.users(), lists),
        policies=rows.policies(statements.rules(), lists, logins),
        checks={
            id_: PostureCheck(id_, checks, name)
            for id_, checks, name in StoredCheck.objects.values_list(
                "id", "checks", "name"
            )
        },
        routes=rows.routes(statements.routes(), lists),
        routers=rows.routers(statements.routers(), lists),
        resources=rows.resources(statements.resources(), lists),
        zones=rows.zones(statements.zones(), lists, records),
        nameserver_groups=rows.nameserver_groups(statements.nameserver_groups(), lists),
        unmanaged_groups=frozenset().union(*lists["unmanaged"].values()),
    )


def _lists() -> tuple[rows.Lists, rows.Logins, str]:
    """Lists of groups by kind and owner, logins of SSH rules, the group of all."""
    found: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(
        lambda: defaultdict(set)
    )
    logins: defaultdict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    everybody = ""
    for kind, owner, member, names in statements.lists():
        if kind == "authorized":
            logins[owner].append((member, tuple(names.splitlines())))
        elif kind == "everybody":
            everybody = member
        else:
            found[kind][owner].add(member)
    lists: defaultdict[str, dict[str, frozenset[str]]] = defaultdict(dict)
    for kind, owners in found.items():
        lists[kind] = {owner: frozenset(ids) for owner, ids in owners.items()}
    return lists, {rule: tuple(entries) for rule, entries in logins.items()}, everybody


def _grouped(pairs: Iterable[tuple[str, ...]]) -> dict[str, frozenset[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for group_id, peer_id in pairs:
        found[group_id].append(peer_id)
    return {group_id: frozenset(ids) for group_id, ids in found.items()}


def _renewed(
    before: Mapping[str, Value], touched: Iterable[str], found: Mapping[str, Value]
) -> dict[str, Value]:
    after = dict(before)
    for id_ in touched:
        after.pop(id_, None)
    after.update(found)
    return after


def _settings() -> Settings:
    account = Account.objects.first()
    if account is None:
        return Settings(jwt=_jwt())
    v6 = account.network_range_v6
    expires = account.peer_login_expiration_enabled
    return Settings(
        dns_domain=canonical(account.dns_domain) if account.dns_domain else "",
        prefix_length=ipaddress.ip_network(account.network_range).prefixlen,
        prefix_length_v6=ipaddress.ip_network(v6).prefixlen if v6 else None,
        login_period=account.peer_login_expiration if expires else None,
        routing_peer_dns=account.routing_peer_dns_resolution_enabled,
        lazy_connections=account.lazy_connection_enabled,
        auto_update_version=account.auto_update_version,
        auto_update_always=account.auto_update_always,
        metrics_push=account.metrics_push_enabled,
        jwt=_jwt(),
    )


def _jwt() -> JwtConfig | None:
    issuer = settings.SVC.oidc_issuer
    audiences = tuple(filter(None, audience()))
    if not is_configured() or not audiences:
        return None
    return JwtConfig(issuer, audiences, _keys_location(issuer))


@cache
def _keys_location(issuer: str) -> str:
    """Where the provider says its keys are; its usual place while it is away."""
    try:
        location = provider().metadata().get("jwks_uri")
    except ServiceError:
        location = None
    return str(location or f"{issuer.rstrip('/')}/.well-known/jwks.json")
