"""The state of the account that decides what peers get.

A loader fills these from the database. Ids are strings, names of domains are in
canonical form (`meshmgmt.core.names`), addresses too, lists in creation order
(match domains, nameservers and groups in the order sent).
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from meshmgmt.access.reach import ReachFacts


class Record(NamedTuple):
    """A resource record; `ttl` in seconds. `id` is empty for generated ones.

    A tuple, because accounts have tens of thousands of them.
    """

    name: str
    type: str
    content: str
    ttl: int
    id: str = ""


@dataclass(frozen=True, slots=True)
class Zone:
    id: str
    name: str
    domain: str
    groups: frozenset[str]
    records: tuple[Record, ...] = ()
    enabled: bool = True
    search: bool = False
    record_count: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the zone has no record.

        A loader may leave out the records of zones a peer cannot get and give
        `record_count` instead.
        """
        return not (self.records or self.record_count)


@dataclass(frozen=True, slots=True)
class Nameserver:
    ip: str
    port: int = 53
    ns_type: str = "udp"


@dataclass(frozen=True, slots=True)
class NameserverGroup:
    """A nameserver group; primary groups have no domains."""

    id: str
    name: str
    nameservers: tuple[Nameserver, ...]
    groups: frozenset[str]
    domains: tuple[str, ...] = ()
    primary: bool = False
    enabled: bool = True
    search: bool = False


class Peer(NamedTuple):
    """A peer; `label` and `extra_labels` are relative to the peers' domain.

    One that is not `approved` gets nothing and is seen by nobody. A tuple, because
    accounts have thousands of them.
    """

    id: str
    name: str
    label: str
    ip: str
    groups: frozenset[str]
    ipv6: str | None = None
    extra_labels: tuple[str, ...] = ()
    approved: bool = True


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The account at one moment.

    For one peer's configuration `peers` and `members` need to hold only the peer
    itself and those it may see (`ReachGraph.targets`); for the lint, everything.
    """

    dns_domain: str
    peers: Mapping[str, Peer]
    members: Mapping[str, Collection[str]]
    zones: tuple[Zone, ...] = ()
    nameserver_groups: tuple[NameserverGroup, ...] = ()
    disabled_groups: frozenset[str] = frozenset()
    group_names: Mapping[str, str] = field(default_factory=dict)
    reach: ReachFacts = field(default_factory=ReachFacts)
