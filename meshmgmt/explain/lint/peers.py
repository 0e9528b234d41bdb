"""Lint rules about what peers get together; findings cover many peers each."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from meshmgmt.core.names import MAX_OCTETS, is_too_long
from meshmgmt.core.printable import counted
from meshmgmt.explain.lint.finding import ACCOUNT, Facts, Finding
from meshmgmt.mesh.names import own_servers, peer_records
from meshmgmt.mesh.peerdns import NETWORK_MAP_GUIDANCE, PeerDns
from meshmgmt.mesh.reasons import group_of

MAX_SEARCH_DOMAINS = 6
MAX_SEARCH_CHARACTERS = 256


def primaries(facts: Facts) -> Iterator[Finding]:
    """Managed peers with several primary groups, or with none."""
    by_primaries: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    # Per peer, not per group: a server is not sent its own group.
    for peer in facts.managed.values():
        ids = tuple(
            group.id
            for group in facts.primaries(facts.groups_of(peer.id))
            if not own_servers(peer, group)
        )
        by_primaries[ids].append(peer.id)
    groups = {group.id: group for group in facts.sent_groups}
    for ids, peers in by_primaries.items():
        who = facts.peers_text(peers)
        if not ids:
            text = (
                f"{who} without a primary nameserver group: "
                "their own system resolver answers all other names"
            )
            yield Finding("no_primary", ACCOUNT, text)
        elif len(ids) > 1:
            listed = ", ".join(groups[id_].name for id_ in ids)
            text = f"{who} with several primary groups: {listed}"
            yield Finding.of("several_primaries", groups[ids[0]], text)


def unmanaged_with_zones(facts: Facts) -> Iterator[Finding]:
    """Groups that take the zones assigned to them away from their peers."""
    assigned = frozenset().union(*(zone.groups for zone in facts.sent_zones))
    for group_id in sorted(facts.snapshot.unmanaged_groups):
        peers = [
            id_
            for id_ in facts.mesh.membership.members(group_id)
            if facts.groups_of(id_) & assigned
        ]
        if peers:
            group = group_of(facts.snapshot, group_id)
            text = (
                f"DNS management is disabled for group {group.name}, so "
                f"{facts.peers_text(peers)} get none of the zones assigned to them"
            )
            yield Finding("unmanaged_with_zones", group, text)


def search_domains(facts: Facts) -> Iterator[Finding]:
    """Search lists that resolv.conf cuts off."""
    lists: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
    by_groups: dict[frozenset[str], tuple[str, ...]] = {}
    own_servers = {
        server.ip for group in facts.sent_groups for server in group.nameservers
    }
    for peer in facts.managed.values():
        # A peer that serves a nameserver group itself differs from its like.
        shared = peer.ip not in own_servers and peer.ipv6 not in own_servers
        groups = facts.groups_of(peer.id)
        domains = by_groups.get(groups) if shared else None
        if domains is None:
            found = PeerDns(facts.mesh, peer.id).search_domains
            domains = tuple(search.domain for search in found)
            if shared:
                by_groups[groups] = domains
        lists[domains].append(peer.id)
    for domains, peers in lists.items():
        characters = len(" ".join(domains))
        # As in resolv.conf(5): glibc kept so many until 2.26, and tools still do.
        if len(domains) > MAX_SEARCH_DOMAINS or characters > MAX_SEARCH_CHARACTERS:
            text = (
                f"{facts.peers_text(peers)} with {len(domains)} search domains of "
                f"{characters} characters; hosts keep {MAX_SEARCH_DOMAINS} and "
                f"{MAX_SEARCH_CHARACTERS}"
            )
            first = facts.snapshot.peers[min(peers)]
            yield Finding.of("too_many_search_domains", first, text)


def one_sided_policies(facts: Facts) -> Iterator[Finding]:
    """Enabled policies with a rule that names nobody on one side."""
    for policy in facts.snapshot.policies:
        rules = [rule for rule in policy.rules if rule.enabled and policy.enabled]
        for side in ("sources", "destinations"):
            idle = sum(not getattr(rule, side) for rule in rules)
            if idle:
                text = (
                    f"{counted(idle, 'rule')} of policy {policy.name} without {side}, "
                    "which let nobody through"
                )
                yield Finding.of("policy_one_sided", policy, text)


def large_maps(facts: Facts) -> Iterator[Finding]:
    """Peers that get more objects than is good for them."""
    snapshot = facts.snapshot
    labels = sum(1 + len(peer.extra_labels) for peer in snapshot.peers.values())
    records = sum(len(zone.records) for zone in facts.sent_zones)
    # A bound that costs nothing: each label is at most two records and a peer.
    most_possible = records + 3 * labels + len(facts.sent_groups)
    # Maps of all peers cost seconds; most accounts are small enough to know without.
    if most_possible <= NETWORK_MAP_GUIDANCE:
        return
    sizes = {
        peer_id: PeerDns(facts.mesh, peer_id).object_count for peer_id in facts.managed
    }
    large = [id_ for id_, size in sizes.items() if size > NETWORK_MAP_GUIDANCE]
    if large:
        largest = snapshot.peers[max(large, key=sizes.__getitem__)]
        text = (
            f"{facts.peers_text(large)} with more than {NETWORK_MAP_GUIDANCE} objects "
            f"in the network map; {largest.name} has {sizes[largest.id]}"
        )
        yield Finding.of("network_map_large", largest, text)


def uneven_range(facts: Facts) -> Iterator[Finding]:
    """A range of addresses that agents cannot make one reverse zone of."""
    length = facts.snapshot.settings.prefix_length
    if length % 8:
        text = (
            f"the peers' addresses are a /{length}: agents serve reverse names for whole "
            "octets alone, so most PTR look-ups fail"
        )
        yield Finding("network_range_uneven", ACCOUNT, text)


def too_long(facts: Facts) -> Iterator[Finding]:
    """Names of peers that DNS cannot carry, mostly for the domain that they share."""
    domain = facts.dns_domain
    peers = [
        peer.id
        for peer in facts.snapshot.peers.values()
        if any(
            is_too_long(record.name)
            for record in peer_records(peer, domain, ipv6=False)
        )
    ]
    if peers:
        text = (
            f"{facts.peers_text(peers)} with names longer than {MAX_OCTETS} octets, "
            f"{len(domain)} of which are the peers' domain"
        )
        yield Finding("name_too_long", ACCOUNT, text)


RULES: Final = (
    primaries,
    unmanaged_with_zones,
    search_domains,
    one_sided_policies,
    large_maps,
    uneven_range,
    too_long,
)
