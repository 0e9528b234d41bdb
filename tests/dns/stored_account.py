"""Puts a snapshot into the database, so that what is loaded can be compared with it."""

from dataclasses import replace

from dns.effective.snapshot import Snapshot
from dns.models import (
    DisabledManagementGroup,
    DnsSettings,
    NameserverGroup,
    NameserverGroupGroup,
    Record,
    Zone,
    ZoneGroup,
)
from dns.models.settings import SINGLE_ROW
from groups.models import Group, GroupPeer, GroupResource
from meshmgmt.access.models import (
    Policy,
    PolicyRule,
    Route,
    RouteGroup,
    RoutePeerGroup,
    Router,
    RouterPeerGroup,
    RuleDestination,
    RuleSource,
)
from meshmgmt.access.reach import RuleSide
from meshmgmt.accounts.models import Account
from meshmgmt.core.orderedlinks import set_members
from meshmgmt.inventory.models import Network, NetworkResource, Peer


def storable(snapshot: Snapshot) -> Snapshot:
    """Return the snapshot with what the database wants to be unique made so."""
    peers = {
        id_: peer._replace(label=f"{peer.label}{number}")
        for number, (id_, peer) in enumerate(snapshot.peers.items())
    }
    policies = tuple(
        replace(policy, id=f"policy{number}")
        for number, policy in enumerate(snapshot.reach.policies)
    )
    reach = replace(snapshot.reach, policies=policies)
    return replace(snapshot, peers=peers, reach=reach)


def store(snapshot: Snapshot) -> None:
    """Write the snapshot; ids are kept, groups are named by their id."""
    account = Account.objects.get()
    account.dns_domain = snapshot.dns_domain
    account.save()
    for group_id in snapshot.members:
        Group.objects.create(id=group_id, name=group_id)
    _store_peers(snapshot)
    _store_dns(snapshot)
    _store_policies(snapshot)
    _store_routes(snapshot)


def _store_peers(snapshot: Snapshot) -> None:
    for peer in snapshot.peers.values():
        Peer.objects.create(
            id=peer.id,
            name=peer.name,
            wg_public_key=peer.id,
            ip=peer.ip,
            ipv6=peer.ipv6,
            dns_label=peer.label,
            extra_dns_labels=list(peer.extra_labels),
            approval_required=not peer.approved,
        )
    for group_id, members in snapshot.members.items():
        set_members(GroupPeer, Group.objects.get(pk=group_id), list(members))


def _store_dns(snapshot: Snapshot) -> None:
    for zone in snapshot.zones:
        stored = Zone.objects.create(
            id=zone.id,
            name=zone.name,
            domain=zone.domain.upper(),
            canonical_domain=zone.domain,
            enabled=zone.enabled,
            enable_search_domain=zone.search,
        )
        set_members(ZoneGroup, stored, sorted(zone.groups))
        for record in zone.records:
            Record.objects.create(
                zone=stored,
                name=record.name.upper(),
                type=record.type,
                content=record.content,
                ttl=record.ttl,
                canonical_name=record.name,
                canonical_content=record.content,
            )
    for group in snapshot.nameserver_groups:
        servers = [
            {"ip": server.ip, "ns_type": server.ns_type, "port": server.port}
            for server in group.nameservers
        ]
        made = NameserverGroup.objects.create(
            id=group.id,
            name=group.name,
            nameservers=servers,
            enabled=group.enabled,
            primary=group.primary,
            domains=[f"{domain.upper()}." for domain in group.domains],
            search_domains_enabled=group.search,
        )
        set_members(NameserverGroupGroup, made, sorted(group.groups))
    settings, _ = DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
    set_members(DisabledManagementGroup, settings, sorted(snapshot.disabled_groups))


def _store_policies(snapshot: Snapshot) -> None:
    for policy in snapshot.reach.policies:
        stored = Policy.objects.create(
            id=policy.id, name=policy.name, enabled=policy.enabled
        )
        for position, rule in enumerate(policy.rules):
            source_type, source_id = _resource(rule.sources)
            destination_type, destination_id = _resource(rule.destinations)
            made = PolicyRule.objects.create(
                policy=stored,
                position=position,
                name="rule",
                enabled=rule.enabled,
                action="accept" if rule.accept else "drop",
                source_resource_type=source_type,
                source_resource_id=source_id,
                destination_resource_type=destination_type,
                destination_resource_id=destination_id,
            )
            set_members(RuleSource, made, sorted(rule.sources.groups))
            set_members(RuleDestination, made, sorted(rule.destinations.groups))


def _resource(side: RuleSide) -> tuple[str, str]:
    if side.peer is not None:
        return "peer", side.peer
    return ("host", side.resource) if side.resource is not None else ("", "")


def _store_routes(snapshot: Snapshot) -> None:
    reach = snapshot.reach
    for route in reach.routes:
        stored = Route.objects.create(
            id=route.id,
            network_id=route.name,
            network="192.0.2.0/24",
            enabled=route.enabled,
            peer_id=route.peer,
        )
        set_members(RouteGroup, stored, sorted(route.groups))
        set_members(RoutePeerGroup, stored, sorted(route.peer_groups))
    networks = {router.network for router in reach.routers}
    for network in sorted(networks | {found.network for found in reach.resources}):
        Network.objects.create(id=network, name=network)
    for router in reach.routers:
        made = Router.objects.create(
            id=router.id,
            network_id=router.network,
            peer_id=router.peer,
            enabled=router.enabled,
        )
        set_members(RouterPeerGroup, made, sorted(router.peer_groups))
    for resource in reach.resources:
        NetworkResource.objects.create(
            id=resource.id,
            network_id=resource.network,
            name=resource.id,
            type="host",
            address="192.0.2.1/32",
            enabled=resource.enabled,
        )
        for group_id in resource.groups:
            group = Group.objects.get(pk=group_id)
            set_members(GroupResource, group, [(resource.id, "host")])
