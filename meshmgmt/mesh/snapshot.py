"""The account at one moment, as far as what any peer gets depends on it.

Ids are strings, addresses canonical text, names of domains canonical
(`meshmgmt.core.names`), times seconds since the epoch, lists in order of creation. What
switches objects on and off is kept, so that one place decides what it means.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SOURCE_PREFIXES = 1
IPV6_OVERLAY = 2
"""Capabilities that clients report."""


class Peer(NamedTuple):
    """A peer with what it reported of itself; a tuple, because there are thousands.

    `system` is its Go platform, `networks` are prefixes or addresses it is attached
    to, `running` the paths of watched files whose process runs.
    """

    id: str
    key: str
    label: str
    ip: str
    ipv6: str | None = None
    name: str = ""
    extra_labels: tuple[str, ...] = ()
    user_id: str | None = None
    ssh_key: str = ""
    ssh_enabled: bool = False
    version: str = ""
    system: str = ""
    os_version: str = ""
    kernel_version: str = ""
    capabilities: frozenset[int] = frozenset()
    flags: frozenset[str] = frozenset()
    networks: tuple[str, ...] = ()
    running: frozenset[str] = frozenset()
    country: str = ""
    city: str = ""
    approved: bool = True
    login_expired: bool = False
    login_expires: bool = False
    last_login: float | None = None

    @property
    def takes_ipv6(self) -> bool:
        """Whether its client handles IPv6 in the overlay."""
        return IPV6_OVERLAY in self.capabilities and "disable_ipv6" not in self.flags

    @property
    def has_ipv6(self) -> bool:
        """Whether it has an IPv6 address and can use it."""
        return self.ipv6 is not None and self.takes_ipv6


@dataclass(frozen=True, slots=True)
class User:
    """A user; `active` ones are people who are neither blocked nor pending.

    `subject` is the name an identity provider has for them in its tokens.
    """

    id: str
    active: bool = True
    blocked: bool = False
    groups: frozenset[str] = frozenset()
    subject: str = ""


@dataclass(frozen=True, slots=True)
class PostureCheck:
    """What sources of a policy must fulfil: kind of check to its settings."""

    id: str
    checks: Mapping[str, Any]
    name: str = ""


@dataclass(frozen=True, slots=True)
class RuleSide:
    """Sources or destinations of a rule: groups, or one peer or resource."""

    groups: frozenset[str] = frozenset()
    peer: str | None = None
    resource: str | None = None

    def __bool__(self) -> bool:
        return bool(self.groups or self.peer or self.resource)

    def names(self, id_: str, groups: frozenset[str]) -> bool:
        """Tell whether it is about a peer or resource that is in these groups."""
        single = id_ in (self.peer, self.resource)
        return single or not groups.isdisjoint(self.groups)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a policy.

    `authorized` gives, for SSH rules, groups with the local logins of their users
    (none: any).
    """

    id: str
    sources: RuleSide
    destinations: RuleSide
    enabled: bool = True
    accept: bool = True
    bidirectional: bool = True
    protocol: str = "all"
    ports: tuple[int, ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()
    authorized: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy with its rules in order and the ids of its posture checks."""

    id: str
    rules: tuple[Rule, ...]
    enabled: bool = True
    checks: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """A route: `network` (a prefix) or `domains`, its routing peers and its users."""

    id: str
    net_id: str
    groups: frozenset[str]
    network: str = ""
    domains: tuple[str, ...] = ()
    peer: str | None = None
    peer_groups: frozenset[str] = frozenset()
    access_groups: frozenset[str] = frozenset()
    metric: int = 9999
    masquerade: bool = False
    keep_route: bool = False
    skip_auto_apply: bool = False
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Router:
    """A routing peer, or groups of them, of a network."""

    id: str
    network: str
    peer: str | None = None
    peer_groups: frozenset[str] = frozenset()
    metric: int = 9999
    masquerade: bool = False
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource of a network: `network` is that network's id, `address` what it is."""

    id: str
    network: str
    name: str
    address: str
    is_domain: bool = False
    groups: frozenset[str] = frozenset()
    enabled: bool = True


class Record(NamedTuple):
    """A resource record; `ttl` in seconds. `id` is empty for those of peers.

    A tuple, because accounts have tens of thousands of them.
    """

    name: str
    type: str
    content: str
    ttl: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Zone:
    """A custom zone with its records.

    `unusable` records hold a name longer than DNS can carry: peers do not get them. Who
    reads the account for one peer may leave the records of zones out that it does not
    get, and says by `has_records` whether there are any.
    """

    id: str
    name: str
    domain: str
    groups: frozenset[str]
    records: tuple[Record, ...] = ()
    enabled: bool = True
    search: bool = False
    unusable: tuple[Record, ...] = ()
    has_records: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that a peer could get."""
        return not (self.records or self.has_records)


@dataclass(frozen=True, slots=True)
class Nameserver:
    """A DNS server; `ns_type` is its protocol."""

    ip: str
    port: int = 53
    ns_type: str = "udp"


@dataclass(frozen=True, slots=True)
class NameserverGroup:
    """Servers for all names (`primary`) or for those in match domains.

    `unusable` domains are longer than DNS can carry: peers do not get them.
    """

    id: str
    name: str
    nameservers: tuple[Nameserver, ...]
    groups: frozenset[str]
    domains: tuple[str, ...] = ()
    primary: bool = False
    enabled: bool = True
    search: bool = False
    unusable: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it serves no name at all."""
        return not (self.primary or self.domains)


@dataclass(frozen=True, slots=True)
class JwtConfig:
    """How peers check the tokens of people who sign in by SSH."""

    issuer: str
    audiences: tuple[str, ...]
    keys_location: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the account and the deployment.

    `login_period` is in seconds, None for no end; without `prefix_length_v6` there is
    no IPv6 in the overlay.
    """

    dns_domain: str = ""
    prefix_length: int = 16
    prefix_length_v6: int | None = None
    login_period: int | None = None
    routing_peer_dns: bool = True
    lazy_connections: bool = True
    auto_update_version: str = ""
    auto_update_always: bool = False
    metrics_push: bool = False
    jwt: JwtConfig | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The account. `members` leaves out the group `everybody`, which all peers are in.

    To answer for one peer, `peers` and `members` need to hold it and whom it may meet
    (`meshmgmt.mesh.extent`), but for the port of DNS forwarders, which is for all of them.
    """

    settings: Settings
    peers: Mapping[str, Peer]
    members: Mapping[str, frozenset[str]]
    everybody: str = ""
    users: Mapping[str, User] = field(default_factory=dict)
    policies: tuple[Policy, ...] = ()
    checks: Mapping[str, PostureCheck] = field(default_factory=dict)
    routes: tuple[Route, ...] = ()
    routers: tuple[Router, ...] = ()
    resources: tuple[Resource, ...] = ()
    zones: tuple[Zone, ...] = ()
    nameserver_groups: tuple[NameserverGroup, ...] = ()
    unmanaged_groups: frozenset[str] = frozenset()
    group_names: Mapping[str, str] = field(default_factory=dict)

    def group_name(self, id_: str) -> str:
        """The name of a group, or its id where the name is not known."""
        return self.group_names.get(id_, id_)

    def checks_of(self, policy: Policy) -> tuple[PostureCheck, ...]:
        """The posture checks of a policy, but for those that are gone."""
        known = self.checks
        return tuple([known[id_] for id_ in policy.checks if id_ in known])
