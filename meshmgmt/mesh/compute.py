"""From a snapshot of the account to the map of each peer."""

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from meshmgmt.mesh.firewall import for_family
from meshmgmt.mesh.membership import Membership, login_ends
from meshmgmt.mesh.names import Names, PeerNames, forwarder_port
from meshmgmt.mesh.policies import (
    Policies,
    RuleInForce,
    SshUsers,
    opposite,
    ssh_logins,
    ssh_wanted,
)
from meshmgmt.mesh.reasons import Reason
from meshmgmt.mesh.result import Dns, NetworkMap
from meshmgmt.mesh.routes import Networks, Routes
from meshmgmt.mesh.sides import Union
from meshmgmt.mesh.snapshot import Snapshot


class Sight(NamedTuple):
    """Whom a peer that takes part meets, and by what.

    `rules` are those about it, `used` numbers of the routes it may use. `by_policy` are
    peers on the other side of rules, `remotes` all that it sees, `names` those whose
    names it knows besides its own.
    """

    rules: list[RuleInForce]
    used: list[int]
    by_policy: Union
    remotes: Union
    names: Union


class Mesh:
    """One snapshot with what all maps share; `now` decides whose login is over."""

    def __init__(self, snapshot: Snapshot, now: float) -> None:
        self.snapshot = snapshot
        self.now = now
        self.membership = Membership(snapshot, now)
        self.policies = Policies(snapshot, self.membership)
        self.routes = Routes(snapshot, self.membership, self.policies)
        self.networks = Networks(snapshot, self.membership, self.policies)
        self.names = Names(snapshot)

    @cached_property
    def forwarder_port(self) -> int:
        """The port of DNS forwarders on all peers, of a snapshot of them all."""
        return forwarder_port({p.version for p in self.snapshot.peers.values()})

    @cached_property
    def users(self) -> SshUsers:
        """People who may sign in on peers."""
        return SshUsers(self.snapshot)

    @cached_property
    def peer_names(self) -> PeerNames:
        """The records of peers in the peers' zone."""
        return PeerNames(self.membership.peers, self.snapshot.settings.dns_domain)

    def sight(self, peer_id: str) -> Sight | None:
        """Whom a peer meets; None for one that takes no part or is unknown."""
        if peer_id not in self.membership.peers:
            return None
        rules = self.policies.about(peer_id)
        union = self.membership.union
        sides = opposite(self.membership.roster.bit(peer_id), rules)
        seen = names = by_policy = union(sides, without=peer_id)
        # Networks give sight without names, plain routes names without sight, as in the
        # maps of the reference, which agents are made for.
        if partners := self.networks.partners(peer_id, rules):
            seen = union([*sides, *partners], without=peer_id)
        used = self.routes.used(peer_id)
        if advertisers := [side for _, side in self.routes.joining(peer_id, used)]:
            names = union([*sides, *advertisers], without=peer_id)
        return Sight(rules, used, by_policy, seen, names)

    def ways(self, peer_id: str) -> Iterator[tuple[Reason, int]]:
        """What lets a peer know names, in order, with the mask of whose names."""
        own = self.membership.roster.bit(peer_id)
        for entry in self.policies.about(peer_id):
            for side in opposite(own, [entry]):
                yield Reason("policy", (entry.policy_name,)), side.mask
        used = self.routes.used(peer_id)
        for route, routing in self.routes.joining(peer_id, used):
            yield Reason("route", (route.net_id,)), routing.mask

    def dns(self, peer_id: str) -> Dns | None:
        """Custom zones and nameserver groups of a peer; None if DNS is not managed."""
        if peer_id not in self.membership.peers:
            return None
        peer = self.snapshot.peers[peer_id]
        return self.names.of(peer, self.membership.groups_of(peer_id))

    def network_map(self, peer_id: str) -> NetworkMap:
        """The map of one peer. Raises KeyError for an unknown one."""
        peer = self.snapshot.peers[peer_id]
        ends = login_ends(peer, self.snapshot.settings)
        sight = self.sight(peer_id)
        # Its own configuration alone, or the agent could not come back by itself.
        if sight is None:
            return NetworkMap(
                peer=peer,
                takes_part=False,
                ssh_enabled=peer.ssh_enabled,
                login_ends=ends,
                forwarder_port=self.forwarder_port,
            )
        rules, used, by_policy, seen, names = sight
        known = seen.mask | names.mask
        return NetworkMap(
            peer=peer,
            takes_part=True,
            ssh_enabled=peer.ssh_enabled or ssh_wanted(peer, rules),
            login_ends=ends,
            forwarder_port=self.forwarder_port,
            remotes=seen,
            grants=self.policies.grants(peer_id, rules, seen),
            routes=tuple(
                for_family(
                    [
                        # Networks first, as in the maps of the reference.
                        *self.networks.entries(peer_id, rules),
                        *self.routes.entries(peer_id, used, by_policy),
                    ],
                    ipv6=peer.has_ipv6,
                )
            ),
            route_rules=(
                *self.networks.rules(peer, known),
                *self.routes.rules(peer, known),
            ),
            names=names,
            dns=self.dns(peer_id),
            ssh_logins=ssh_logins(peer, rules, self.users),
            files=self.policies.files(peer_id),
        )
