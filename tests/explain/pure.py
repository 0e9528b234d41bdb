"""Accounts written down by hand: peers with the groups they are in, and what one gets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from meshmgmt.mesh import Mesh
from meshmgmt.mesh.peerdns import PeerDns
from meshmgmt.mesh.snapshot import (
    IPV6_OVERLAY,
    Peer,
    Policy,
    Rule,
    RuleSide,
    Settings,
    Snapshot,
)
from tests.mesh.meshes import NOW

Groups = frozenset[str]
NO_GROUPS: Groups = frozenset()


def placed(
    peers: Mapping[Peer, Groups], *policies: Policy, dns_domain: str = "mesh.lan"
) -> Snapshot:
    """An account of peers in groups."""
    groups = sorted(frozenset().union(*peers.values()))
    return Snapshot(
        settings=Settings(dns_domain=dns_domain),
        peers={peer.id: peer for peer in peers},
        members={
            group: frozenset(peer.id for peer, own in peers.items() if group in own)
            for group in groups
        },
        policies=policies,
    )


def with_peer(snapshot: Snapshot, id_: str, **facts: Any) -> Snapshot:
    """The account, with other facts of a peer."""
    changed = snapshot.peers[id_]._replace(**facts)
    return replace(snapshot, peers={**snapshot.peers, id_: changed})


def machine(
    id_: str, name: str, ip: str, ipv6: str | None = None, *extra_labels: str
) -> Peer:
    """A peer whose label is its name; its client speaks IPv6."""
    return Peer(
        id=id_,
        key=id_,
        label=name,
        ip=ip,
        ipv6=ipv6,
        name=name,
        extra_labels=extra_labels,
        capabilities=frozenset({IPV6_OVERLAY}),
    )


def policy(name: str, *sides: tuple[RuleSide, RuleSide]) -> Policy:
    """A policy whose rules let sources and destinations meet; its id is its name."""
    rules = (Rule(f"{name}{number}", *pair) for number, pair in enumerate(sides))
    return Policy(id=name, rules=tuple(rules), name=name)


def mesh(snapshot: Snapshot) -> Mesh:
    """The account at the moment of the tests."""
    return Mesh(snapshot, NOW)


def config(snapshot: Snapshot, peer_id: str = "p1") -> PeerDns:
    """What one peer gets. Raises KeyError for an unknown one."""
    return PeerDns(mesh(snapshot), peer_id)
