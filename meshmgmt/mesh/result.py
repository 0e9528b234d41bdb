"""The network map of one peer, in terms of the account rather than of the wire."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from meshmgmt.mesh.sides import NONE, Union
from meshmgmt.mesh.snapshot import NameserverGroup, Peer, Rule, Zone

TWIN: Final = "-v6-default"
"""Ends the id of what an exit node is for IPv6."""


class Grant(NamedTuple):
    """Traffic between the receiver and other peers that one rule is about."""

    policy_id: str
    rule: Rule
    inbound: bool
    remotes: Union


class RouteEntry(NamedTuple):
    """A prefix, or domains, that can be reached through the peer `peer_id`."""

    id: str
    net_id: str
    network: str
    peer_id: str
    metric: int
    masquerade: bool
    domains: tuple[str, ...] = ()
    keep_route: bool = False
    skip_auto_apply: bool = False

    @property
    def carrier(self) -> str:
        """The id of the resource or route that it was made of."""
        # Several routing peers, and the twin of an exit node for IPv6, have ids of
        # their own.
        return self.id.partition(":")[0].removesuffix(TWIN)


class RouteRule(NamedTuple):
    """What a routing peer lets through, or not, to one of its routes.

    Exactly one of `port` and `ports` is set, or neither: all ports.
    """

    sources: tuple[str, ...]
    accept: bool
    destination: str
    protocol: str
    policy_id: str
    route_id: str
    domains: tuple[str, ...] = ()
    port: int | None = None
    ports: tuple[int, int] | None = None
    rule_id: str = ""


class Dns(NamedTuple):
    """Custom zones and nameserver groups, each in order of creation."""

    zones: Sequence[Zone]
    nameserver_groups: Sequence[NameserverGroup]


class NetworkMap(NamedTuple):
    """All that one peer gets.

    Of a peer that does not take part (`takes_part` false) only its own configuration
    is filled. `remotes` are the peers it sees, `names` those whose names it knows
    besides its own; without `dns` its names are not managed.
    `ssh_logins` maps local logins (`*`: any) to users as tokens name them. `files` has
    one entry for each posture check that watches files.
    """

    peer: Peer
    takes_part: bool
    ssh_enabled: bool
    login_ends: float | None
    forwarder_port: int
    remotes: Union = NONE
    grants: Sequence[Grant] = ()
    routes: Sequence[RouteEntry] = ()
    route_rules: Sequence[RouteRule] = ()
    names: Union = NONE
    dns: Dns | None = None
    ssh_logins: Mapping[str, frozenset[str]] = MappingProxyType({})
    files: Sequence[tuple[str, ...]] = ()
