"""Puts a snapshot into the database, so that what is loaded can be compared with it."""

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

from django.db import connection

from dns.models import (
    SINGLE_ROW,
    DisabledManagementGroup,
    DnsSettings,
    NameserverGroup,
    NameserverGroupGroup,
    Record,
    Zone,
    ZoneGroup,
)
from groups.models import Group, GroupPeer, GroupResource
from meshmgmt.access.models import (
    Policy,
    PolicyPostureCheck,
    PolicyRule,
    PostureCheck,
    Route,
    RouteAccessControlGroup,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
    RuleAuthorizedGroup,
    RuleDestination,
    RuleSource,
    UserAutoGroup,
)
from meshmgmt.accounts.models import User
from meshmgmt.core.names import MAX_TEXT
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Network, NetworkResource, Peer
from meshmgmt.mesh import snapshot as model
from meshmgmt.mesh.snapshot import RuleSide, Snapshot
from tests.factories import account_settings

Routing = TypeVar("Routing", model.Route, model.Router)


def storable(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot without names that repeat or dangle: databases refuse them."""
    peers = {
        id_: peer._replace(label=f"{peer.label}{number}")
        for number, (id_, peer) in enumerate(snapshot.peers.items())
    }
    return replace(
        snapshot,
        group_names={snapshot.everybody: "All"},
        peers=peers,
        members={group: ids & peers.keys() for group, ids in snapshot.members.items()},
        policies=tuple(
            replace(
                policy, checks=tuple(c for c in policy.checks if c in snapshot.checks)
            )
            for policy in snapshot.policies
        ),
        routes=_of_stored_peers(snapshot.routes, peers),
        routers=_of_stored_peers(snapshot.routers, peers),
    )


def _of_stored_peers(
    routings: Iterable[Routing], peers: Iterable[str]
) -> tuple[Routing, ...]:
    return tuple(
        each if each.peer is None or each.peer in peers else replace(each, peer="a")
        for each in routings
    )


def same(source: object, names: str) -> dict[str, Any]:
    """Return the columns that an object of the snapshot has under the same names."""
    return {name: getattr(source, name) for name in names.split()}


def store(snapshot: Snapshot) -> None:
    """Write the snapshot; ids are kept, groups are named by their id."""
    period = snapshot.settings.login_period
    account_settings(
        dns_domain=snapshot.settings.dns_domain,
        peer_login_expiration_enabled=period is not None,
        **({} if period is None else {"peer_login_expiration": period}),
    )
    if snapshot.everybody:
        with connection.cursor() as cursor:  # nothing refers to it yet
            cursor.execute(
                "UPDATE groups_group SET id = %s WHERE name = 'All'",
                [snapshot.everybody],
            )
    with account_write():  # one, for each costs
        for group_id in snapshot.members:
            Group.objects.create(id=group_id, name=group_id)
        _store_people(snapshot)
        _store_peers(snapshot)
        _store_dns(snapshot)
        _store_policies(snapshot)
        _store_routes(snapshot)
        _store_networks(snapshot)


def _store_people(snapshot: Snapshot) -> None:
    for user in snapshot.users.values():
        made = User.objects.create(
            id=user.id,
            email=f"{user.id}@mesh.dev",
            is_blocked=user.blocked,
            pending_approval=not (user.active or user.blocked),
        )
        set_members(UserAutoGroup, made, sorted(user.groups))


def _store_peers(snapshot: Snapshot) -> None:
    for peer in snapshot.peers.values():
        Peer.objects.create(
            **same(peer, "id name ip ipv6 user_id ssh_enabled version login_expired"),
            wg_public_key=peer.key,
            dns_label=peer.label,
            extra_dns_labels=list(peer.extra_labels),
            go_os=peer.system,
            capabilities=sorted(peer.capabilities),
            local_flags=dict.fromkeys(peer.flags, True),
            files=[{"path": path, "process_is_running": True} for path in peer.running],
            approval_required=not peer.approved,
            login_expiration_enabled=peer.login_expires,
            last_login=_moment(peer.last_login),
        )
    for group_id, members in snapshot.members.items():
        set_members(GroupPeer, Group.objects.get(pk=group_id), sorted(members))


def _moment(seconds: float | None) -> dt.datetime | None:
    return None if seconds is None else dt.datetime.fromtimestamp(seconds, dt.UTC)


def _store_dns(snapshot: Snapshot) -> None:
    for zone in snapshot.zones:
        stored = Zone.objects.create(
            **same(zone, "id name enabled"),
            domain=zone.domain.upper(),
            canonical_domain=zone.domain,
            enable_search_domain=zone.search,
        )
        set_members(ZoneGroup, stored, sorted(zone.groups))
        for record in (*zone.records, *zone.unusable):
            Record.objects.create(
                **same(record, "type ttl"),
                zone=stored,
                name=record.name.upper(),
                content=record.content[:MAX_TEXT],
                canonical_name=record.name,
                canonical_content=record.content[:MAX_TEXT],
            )
    for group in snapshot.nameserver_groups:
        made = NameserverGroup.objects.create(
            **same(group, "id name enabled primary"),
            nameservers=[same(each, "ip ns_type port") for each in group.nameservers],
            domains=[f"{domain.upper()}." for domain in group.domains],
            search_domains_enabled=group.search,
        )
        set_members(NameserverGroupGroup, made, sorted(group.groups))
    settings, _ = DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
    set_members(DisabledManagementGroup, settings, sorted(snapshot.unmanaged_groups))


def _store_policies(snapshot: Snapshot) -> None:
    for check in snapshot.checks.values():
        PostureCheck.objects.create(**same(check, "id name checks"))
    for policy in snapshot.policies:
        stored = Policy.objects.create(**same(policy, "id name enabled"))
        set_members(PolicyPostureCheck, stored, sorted(policy.checks))
        for position, rule in enumerate(policy.rules):
            _store_rule(stored, position, rule)


def _store_rule(policy: Policy, position: int, rule: model.Rule) -> None:
    made = PolicyRule.objects.create(
        **same(rule, "id enabled bidirectional protocol"),
        policy=policy,
        position=position,
        name="rule",
        action="accept" if rule.accept else "drop",
        ports=[str(port) for port in rule.ports],
        port_ranges=[{"start": first, "end": last} for first, last in rule.ranges],
        **_resource("source", rule.sources),
        **_resource("destination", rule.destinations),
    )
    set_members(RuleSource, made, sorted(rule.sources.groups))
    set_members(RuleDestination, made, sorted(rule.destinations.groups))
    logins = [(group, "\n".join(names)) for group, names in rule.authorized]
    set_members(RuleAuthorizedGroup, made, logins)


def _resource(end: str, side: RuleSide) -> dict[str, str]:
    kind = "peer" if side.peer is not None else "host"
    id_ = side.peer if side.peer is not None else side.resource
    named = {"type": kind, "id": id_} if id_ is not None else {"type": "", "id": ""}
    return {f"{end}_resource_{part}": text for part, text in named.items()}


def _store_routes(snapshot: Snapshot) -> None:
    for route in snapshot.routes:
        stored = Route.objects.create(
            **same(route, "id network enabled metric masquerade"),
            network_id=route.net_id,
            domains=list(route.domains),
            peer_id=route.peer,
        )
        set_members(RouteGroup, stored, sorted(route.groups))
        set_members(RoutePeerGroup, stored, sorted(route.peer_groups))
        set_members(RouteAccessControlGroup, stored, sorted(route.access_groups))


def _store_networks(snapshot: Snapshot) -> None:
    networks = {router.network for router in snapshot.routers}
    for network in sorted(networks | {each.network for each in snapshot.resources}):
        Network.objects.create(id=network, name=network)
    for router in snapshot.routers:
        made = Router.objects.create(
            **same(router, "id enabled metric"),
            network_id=router.network,
            peer_id=router.peer,
        )
        set_members(RouterPeerGroup, made, sorted(router.peer_groups))
    listed: dict[str, list[tuple[str, str]]] = {}
    for resource in snapshot.resources:
        kind = "domain" if resource.is_domain else "host"
        NetworkResource.objects.create(
            **same(resource, "id name address enabled"),
            network_id=resource.network,
            type=kind,
        )
        for group_id in resource.groups:
            listed.setdefault(group_id, []).append((resource.id, kind))
    for group_id, resources in listed.items():
        set_members(GroupResource, Group.objects.get(pk=group_id), resources)
