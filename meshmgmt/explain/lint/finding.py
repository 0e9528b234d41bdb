"""Findings, the catalogue of their codes, and what several rules need to find them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final, Self

from meshmgmt.core.printable import counted
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.names import is_sent
from meshmgmt.mesh.reasons import Subject, Thing, subject_of
from meshmgmt.mesh.snapshot import NameserverGroup, Peer, Zone

ACCOUNT: Final = Subject("account", "", "")
"""What findings are about that are about no single object."""

_TABLE: Final = """
zone_shadowed warning
    names of a zone also exist in a longer zone, which wins
    Keep each name in one of the two zones.
zone_overlaps_peer_domain warning
    a zone and the domain of the peers' own names overlap
    Move the zone to a domain outside the peers' domain.
zone_without_peers warning
    an enabled zone with records that no managed peer gets
    Add a distribution group with managed peers, or disable the zone.
zone_empty warning
    an enabled zone without records, which peers do not get
    Add records, or disable the zone.
cname_target_missing warning
    a CNAME to a name that does not exist in its own zone
    Add the target to the zone or correct the CNAME.
search_domain_unused warning
    a zone is a search domain but has no name one label below it
    Turn the search domain off, or add a name directly below the zone domain.
ttl_zero info
    records with TTL 0, which nobody may cache
    Give the records a TTL such as 300 seconds.
ttl_differs info
    records of one name and type with different TTLs, against RFC 2181, 5.2
    Give the records of one name and type the same TTL.
name_too_long warning
    a name longer than the 253 octets of DNS, which matches nothing
    Shorten the name.
match_domain_shadowed warning
    a match domain inside the peers' own domain, for which no server is asked
    Remove the match domain, or choose one outside the peers' domain.
match_domain_overlaid info
    a zone at or above a match domain answers for names in it before its servers
    Nothing, if the zone is meant to override; else move the records.
nameserver_group_only_disabled warning
    a nameserver group that only groups without DNS management use
    Assign a managed group, or disable the nameserver group.
nameserver_group_without_peers warning
    an enabled nameserver group that no managed peer gets
    Assign a group with managed peers, or disable the nameserver group.
nameserver_repeated warning
    the same nameserver twice in one group
    Remove the repetition.
group_empty info
    a group that DNS objects refer to has no peers
    Add peers to the group, or remove it from the DNS objects.
several_primaries warning
    peers with more than one primary nameserver group
    Leave one primary group per peer, so that it is clear who answers.
no_primary info
    managed peers without a primary nameserver group
    Nothing, if their own system resolver shall answer; else add a primary group.
unmanaged_with_zones warning
    peers without DNS management that have zones assigned
    Enable DNS management for the group, or take its peers out of it.
too_many_search_domains warning
    more search domains than a resolv.conf holds (6, or 256 characters)
    Turn search domains off that are not needed.
policy_one_sided info
    a rule whose sources or destinations are empty, which lets nobody through
    Name groups on both sides, or remove the rule.
network_map_large warning
    peers whose network map has more than 5000 objects
    Narrow policies and distribution groups.
network_range_uneven info
    peers' addresses do not fill whole octets, so most reverse look-ups fail
    Renumber the peers into a /16 (account settings), or leave reverse names unused.
access_test_failing warning
    an access test that fails
    Look at its failures, then repair what it names, or change the test.
"""

_SHOWN = 3


class Severity(StrEnum):
    """`warning`: something does not work as configured; `info`: worth knowing."""

    INFO = "info"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """What all findings of one code have in common."""

    severity: Severity
    meaning: str
    remedy: str


def _parse(table: str) -> Iterator[tuple[str, Rule]]:
    lines = table.strip().splitlines()
    # Three lines each, by one iterator taken three times.
    for head, meaning, remedy in zip(*[iter(lines)] * 3, strict=True):
        code, severity = head.split()
        yield code, Rule(Severity(severity), meaning.strip(), remedy.strip())


CATALOGUE: Final = dict(_parse(_TABLE))


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding about one object; `text` is a sentence for people."""

    code: str
    subject: Subject
    text: str

    @classmethod
    def of(cls, code: str, thing: Thing, text: str) -> Self:
        """Find something of an object of the account."""
        return cls(code, subject_of(thing), text)

    @property
    def severity(self) -> Severity:
        return CATALOGUE[self.code].severity

    @property
    def remedy(self) -> str:
        return CATALOGUE[self.code].remedy


def at_least(findings: Iterable[Finding], severity: Severity) -> list[Finding]:
    """Findings that are as serious as `severity` or more."""
    order = list(Severity)
    bound = order.index(severity)
    return [finding for finding in findings if order.index(finding.severity) >= bound]


class Facts:
    """A snapshot with the sets the rules work on."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.snapshot = mesh.snapshot
        self.dns_domain = mesh.snapshot.settings.dns_domain
        self.groups_of = mesh.membership.groups_of
        self._receivers: dict[frozenset[str], frozenset[str]] = {}
        self._primaries: dict[frozenset[str], list[NameserverGroup]] = {}

    @cached_property
    def managed(self) -> dict[str, Peer]:
        """Peers that take part and are in no group with DNS management disabled."""
        return {
            id_: peer
            for id_, peer in self.mesh.membership.peers.items()
            if self.mesh.names.manages(self.groups_of(id_))
        }

    @cached_property
    def sent_zones(self) -> list[Zone]:
        """Zones that peers get if they share a group."""
        return [zone for zone in self.snapshot.zones if is_sent(zone)]

    @cached_property
    def sent_groups(self) -> list[NameserverGroup]:
        """Nameserver groups that peers get if they share a group."""
        return [group for group in self.snapshot.nameserver_groups if is_sent(group)]

    @cached_property
    def names(self) -> dict[str, frozenset[str]]:
        """Zone id to the names that have records."""
        return {
            zone.id: frozenset(record.name for record in zone.records)
            for zone in self.snapshot.zones
        }

    @cached_property
    def _managed_members(self) -> dict[str, frozenset[str]]:
        members: defaultdict[str, set[str]] = defaultdict(set)
        for peer_id in self.managed:
            for group in self.groups_of(peer_id):
                members[group].add(peer_id)
        return {group: frozenset(ids) for group, ids in members.items()}

    def receivers(self, groups: frozenset[str]) -> frozenset[str]:
        """Managed peers that are in one of the groups."""
        found = self._receivers.get(groups)
        if found is None:
            members = self._managed_members
            found = frozenset().union(*(members.get(g, ()) for g in groups))
            self._receivers[groups] = found
        return found

    def users(self, group: NameserverGroup) -> frozenset[str]:
        """Managed peers that get a nameserver group: not those that are its servers."""
        ips = {server.ip for server in group.nameservers}
        # A group is not sent to a peer that would ask itself.
        servers = {id_ for ip in ips for id_ in self._by_address.get(ip, ())}
        return self.receivers(group.groups) - servers

    @cached_property
    def _by_address(self) -> dict[str, list[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for peer in self.managed.values():
            for address in filter(None, (peer.ip, peer.ipv6)):
                found[address].append(peer.id)
        return found

    def has_members(self, group_id: str) -> bool:
        """Tell whether any peer, be it that it takes no part, is in a group."""
        everybody = group_id == self.snapshot.everybody
        return bool(
            self.snapshot.peers if everybody else self.snapshot.members.get(group_id)
        )

    def primaries(self, groups: frozenset[str]) -> list[NameserverGroup]:
        """Primary nameserver groups of peers that are in exactly these groups."""
        if groups not in self._primaries:
            self._primaries[groups] = [
                group
                for group in self.sent_groups
                if group.primary and group.groups & groups
            ]
        return self._primaries[groups]

    def peers_text(self, ids: Iterable[str]) -> str:
        """`3 peers (ann, bob, cy)`, with at most three names."""
        # By id, that is by age: the same names each time.
        chosen = sorted(ids)
        names = [self.snapshot.peers[id_].name for id_ in chosen[:_SHOWN]]
        if len(chosen) > _SHOWN:
            names.append("…")
        return f"{counted(len(chosen), 'peer')} ({', '.join(names)})"

    @cached_property
    def by_domain(self) -> dict[str, list[Zone]]:
        """Zones that peers get if they share a group, by their domain."""
        found: defaultdict[str, list[Zone]] = defaultdict(list)
        for zone in self.sent_zones:
            found[zone.domain].append(zone)
        return found
