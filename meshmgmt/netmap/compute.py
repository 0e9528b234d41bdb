"""From a snapshot of the account to the map of each peer."""

from meshmgmt.netmap import dns, ssh
from meshmgmt.netmap.membership import Membership, login_ends
from meshmgmt.netmap.networks import Networks
from meshmgmt.netmap.policies import Policies, grants, opposite
from meshmgmt.netmap.result import NetworkMap, RouteRule
from meshmgmt.netmap.routerules import for_family
from meshmgmt.netmap.routes import Routes
from meshmgmt.netmap.snapshot import Peer, Snapshot


class Mesh:
    """One snapshot with what all maps share; `now` decides whose login is over."""

    def __init__(self, snapshot: Snapshot, now: float) -> None:
        self.snapshot = snapshot
        self.membership = Membership(snapshot, now)
        self.policies = Policies(snapshot, self.membership)
        self.routes = Routes(snapshot, self.membership, self.policies)
        self.networks = Networks(snapshot, self.membership, self.policies)
        self.forwarder_port = dns.forwarder_port(
            peer.version for peer in snapshot.peers.values()
        )
        self.names = dns.Names(snapshot)
        self.users = ssh.SshUsers(snapshot)

    def network_map(self, peer_id: str) -> NetworkMap:
        """The map of one peer. Raises KeyError for an unknown one."""
        peer = self.snapshot.peers[peer_id]
        ends = login_ends(peer, self.snapshot.settings)
        if peer_id not in self.membership.peers:
            return NetworkMap(
                peer=peer,
                takes_part=False,
                ssh_enabled=peer.ssh_enabled,
                login_ends=ends,
                forwarder_port=self.forwarder_port,
            )
        rules = self.policies.about(peer_id)
        union = self.membership.union
        by_policy = union(opposite(peer_id, rules), without=peer_id)
        partners = self.networks.partners(peer_id, rules)
        used = self.routes.used(peer_id)
        advertisers = self.routes.advertisers(peer_id, used)
        seen = names = by_policy
        if partners:
            seen = union([*by_policy.sides, *partners], without=peer_id)
        if advertisers:
            names = union([*by_policy.sides, *advertisers], without=peer_id)
        return NetworkMap(
            peer=peer,
            takes_part=True,
            ssh_enabled=peer.ssh_enabled or ssh.wanted(peer, rules),
            login_ends=ends,
            forwarder_port=self.forwarder_port,
            remotes=seen,
            grants=grants(peer_id, rules, seen),
            routes=tuple(
                for_family(
                    [
                        *self.networks.entries(peer_id, rules),
                        *self.routes.entries(peer_id, used, by_policy),
                    ],
                    ipv6=peer.has_ipv6,
                )
            ),
            route_rules=(
                self._route_rules(peer, seen.ids | names.ids)
                if self.networks.serves(peer_id) or self.routes.serves(peer_id)
                else ()
            ),
            names=names,
            dns=self.names.of(peer, self.membership.groups_of(peer_id)),
            ssh_logins=ssh.logins(peer, rules, self.users),
            files=self.policies.files(peer_id),
        )

    def _route_rules(self, peer: Peer, known: frozenset[str]) -> tuple[RouteRule, ...]:
        return (*self.networks.rules(peer, known), *self.routes.rules(peer, known))
