"""Packets by protocol and port, the places they go to, and what rules of agents do with
them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Final, NamedTuple

from meshmgmt.mesh.firewall import Ports, Receiver, receiver, rule_ports, with_ssh_port
from meshmgmt.mesh.result import NetworkMap, RouteEntry
from meshmgmt.mesh.snapshot import Peer, Resource, Route, Rule

ALL: Final = "all"
WITH_PORTS: Final = ("tcp", "udp")
PROTOCOLS: Final = (ALL, *WITH_PORTS, "icmp")
OTHER: Final = "other"
"""Every protocol that rules have no name for."""
LAST_PORT: Final = 65535
_PLACES: Final = {name: place for place, name in enumerate((*PROTOCOLS[1:], OTHER))}
"""In which order slices of protocols come."""
# Rules of routes are sent alike to every routing peer, whatever its client knows.
_MODERN: Final = Receiver(
    ranges=True, native_ssh=False, source_prefixes=True, ipv6=True
)
_WORDS: Final = {"tcp": "TCP", "udp": "UDP", "icmp": "ICMP", OTHER: "other protocols"}

NOWHERE: Final = -1


class Traffic(NamedTuple):
    """What is asked about; `all` is every protocol, without a port every port."""

    protocol: str = ALL
    port: int | None = None

    @property
    def words(self) -> str:
        if self.protocol == ALL:
            return "everything"
        port = "" if self.port is None else f" {self.port}"
        return f"{_WORDS[self.protocol]}{port}"


class Filter(NamedTuple):
    """What one rule of an agent's firewall matches; ports 0 to 0 are all of them."""

    accept: bool
    protocol: str
    policy_id: str
    rule_id: str
    first: int = 0
    last: int = 0

    @property
    def packets(self) -> "Slice":
        return Slice(self.protocol, self.first, self.last)


class Slice(NamedTuple):
    """Packets that every filter treats alike; 0 to 0 where there are no ports."""

    protocol: str
    first: int = 0
    last: int = 0


class Part(NamedTuple):
    """Packets with the filter that decides about them, None if none matches."""

    packets: Slice
    filter: Filter | None

    @property
    def passes(self) -> bool:
        return self.filter is not None and self.filter.accept


def filters(
    accept: bool, protocol: str, policy_id: str, rule_id: str, entries: Iterable[Ports]
) -> Iterator[Filter]:
    """The filters of one rule, one for each of its ports and ranges."""
    named = "tcp" if protocol == "netbird-ssh" else protocol
    for entry in entries:
        first, last = entry.range or (entry.port or 0, entry.port or 0)
        yield Filter(accept, named, policy_id, rule_id, first, last)


def arriving(rule: Rule, understood: Receiver, policy_id: str = "") -> Iterator[Filter]:
    """What a rule is to the firewall of a peer whose client understands so much."""
    ports = rule_ports(rule, understood)
    return filters(rule.accept, rule.protocol, policy_id, rule.id, ports)


def opened(rule: Rule, peer: Peer | None = None) -> list[Filter]:
    """What a rule opens on a peer, or on any that knows ranges.

    To what is routed the rule opens what it does `with_ssh_port`: without ports, one for
    SSH opens all of TCP on peers, and port 22 there.
    """
    return [*arriving(rule, _MODERN if peer is None else receiver(peer))]


def rule_words(rule: Rule) -> str:
    """What a rule is about: `TCP 80 and 443`, or `SSH (TCP; TCP 22 on routes)`."""
    if rule.protocol == ALL:
        return Traffic().words
    told = [
        described(Traffic(), [each.packets for each in opened(known)])
        for known in (rule, with_ssh_port(rule))
    ]
    return f"SSH ({told[0]}; {told[1]} on routes)" if told[0] != told[1] else told[0]


def matching(
    cut: Sequence[Slice], found: Mapping[str, Iterable[Filter]]
) -> list[tuple[str, ...]]:
    """Return for each slice, in their order, the names whose filters have all of it."""
    names: list[list[str]] = [[] for _ in cut]
    for name, some in found.items():
        past = 0
        # In their order, so that where they overlap nothing is looked at twice.
        for begin, end in sorted(span for each in some for span in _spans(cut, each)):
            for told in names[max(begin, past) : end]:
                told.append(name)
            past = max(past, end)
    return [tuple(told) for told in names]


def judged(traffic: Traffic, found: Sequence[Filter]) -> list[Part]:
    """What filters do with traffic: those that drop come first, what none has is lost."""
    # Agents look at what drops first, whatever the order in which it is sent.
    drops = [each for each in found if not each.accept]
    cut = list(slices(traffic, found))
    deciding: list[Filter | None] = [None] * len(cut)
    # From each slice on, the next one that nothing decides about yet, as far as known.
    ahead = list(range(len(cut) + 1))
    for each in (*drops, *(each for each in found if each.accept)):
        for begin, end in _spans(cut, each):
            at = _undecided(ahead, begin)
            while at < end:
                deciding[at] = each
                ahead[at] = at + 1
                at = _undecided(ahead, at)
    return [Part(*pair) for pair in zip(cut, deciding, strict=True)]


def _spans(cut: Sequence[Slice], by: Filter) -> Iterator[tuple[int, int]]:
    """Where those of the slices begin and end that a filter matches."""
    for place in _PLACES.values() if by.protocol == ALL else (_PLACES[by.protocol],):
        begin = bisect_left(cut, place, key=_place)
        end = bisect_right(cut, place, key=_place)
        if by.first:
            begin = bisect_left(cut, by.first, begin, end, key=attrgetter("first"))
            end = bisect_right(cut, by.last, begin, end, key=attrgetter("last"))
        yield begin, end


def _place(packets: Slice) -> int:
    return _PLACES[packets.protocol]


def _undecided(ahead: list[int], at: int) -> int:
    while ahead[at] != at:
        ahead[at] = ahead[ahead[at]]
        at = ahead[at]
    return at


def slices(traffic: Traffic, found: Iterable[Filter]) -> Iterator[Slice]:
    """Traffic, cut wherever a filter begins or ends."""
    inner = {edge for f in found if f.first for edge in (f.first, f.last + 1)}
    edges = sorted(inner | {1, LAST_PORT + 1})
    for protocol in _PLACES if traffic.protocol == ALL else (traffic.protocol,):
        if protocol not in WITH_PORTS:
            yield Slice(protocol)
        elif traffic.port is not None:
            yield Slice(protocol, traffic.port, traffic.port)
        else:
            for first, end in pairwise(edges):
                yield Slice(protocol, first, end - 1)


def described(traffic: Traffic, packets: Iterable[Slice]) -> str:
    """Packets in words: `TCP 1-442 and 444-65535, UDP, ICMP`."""
    ordered = sorted(set(packets))
    names = [
        _ports(protocol, list(of_protocol))
        for protocol, of_protocol in groupby(ordered, key=attrgetter("protocol"))
    ]
    whole = traffic.protocol == ALL and sorted(names) == sorted(_WORDS.values())
    return "everything" if whole else ", ".join(names)


def _ports(protocol: str, packets: list[Slice]) -> str:
    ranges: list[tuple[int, int]] = []
    for _, first, last in packets:
        if ranges and first <= ranges[-1][1] + 1:
            begin, end = ranges.pop()
            ranges.append((begin, max(end, last)))
        else:
            ranges.append((first, last))
    if ranges in ([(0, 0)], [(1, LAST_PORT)]):
        return _WORDS[protocol]
    listed = [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
    *before, final = listed
    ports = f"{', '.join(before)} and {final}" if before else final
    return f"{_WORDS[protocol]} {ports}"


class Place(NamedTuple):
    """One address, or one domain."""

    text: str
    is_domain: bool = False

    @property
    def is_ipv6(self) -> bool:
        return not self.is_domain and ":" in self.text

    def source(self, peer: Peer) -> tuple[str, str]:
        """How rules name a peer that sends something there: alone, and with all others."""
        if self.is_ipv6:
            return f"{peer.ipv6}/128", "::/0"
        return f"{peer.ip}/32", "0.0.0.0/0"

    def closeness(self, network: str, domains: Collection[str]) -> int:
        """How narrowly a prefix or domains name it; NOWHERE if they do not."""
        if self.is_domain:
            found = [_label_match(domain, self.text) for domain in domains]
            return max(found, default=NOWHERE)
        if domains or not network:
            return NOWHERE
        prefix, address = _parsed(network), ip_address(self.text)
        return prefix.prefixlen if address in prefix else NOWHERE


def best(entries: Iterable[RouteEntry], place: Place) -> list[RouteEntry]:
    """The entries that a peer sends traffic by: the narrowest of its routes."""
    near = [(place.closeness(entry.network, entry.domains), entry) for entry in entries]
    top = max((closeness for closeness, _ in near), default=NOWHERE)
    return [entry for closeness, entry in near if closeness == top != NOWHERE]


def closest(places: Iterable[Place], carrier: Resource | Route) -> int:
    """How narrowly a resource or route names one of the places."""
    if isinstance(carrier, Route):
        network, domains = carrier.network, carrier.domains
    else:
        is_domain = carrier.is_domain
        network = "" if is_domain else carrier.address
        domains = (carrier.address,) if is_domain else ()
    return max(place.closeness(network, domains) for place in places)


def all_places(
    resource: Resource, source: NetworkMap, map_of: Callable[[str], NetworkMap]
) -> list[Place]:
    """Addresses that stand for all of a resource: one of each part told apart.

    By the routes of the source, and the rules of the peers that these lead to.
    """
    if resource.is_domain:
        return [Place(resource.address, is_domain=True)]
    outer = _parsed(resource.address)
    prefixes = {entry.network for entry in source.routes if not entry.domains}
    places = _apart(outer, prefixes)
    if outer.num_addresses == 1:
        return places
    # No map of who routes something else: there may be hundreds.
    for peer_id in {e.peer_id for place in places for e in best(source.routes, place)}:
        rules = map_of(peer_id).route_rules
        prefixes |= {rule.destination for rule in rules if not rule.domains}
    return _apart(outer, prefixes)


def _apart(outer: IPv4Network | IPv6Network, prefixes: Collection[str]) -> list[Place]:
    # Nothing tells addresses apart between two edges of prefixes: the first stands for
    # all.
    starts = {int(outer[0])}
    for inner in map(_parsed, prefixes):
        if inner.version == outer.version and inner != outer and inner[0] in outer:
            starts |= {int(inner[0]), int(inner[-1]) + 1}
    make, last = type(outer[0]), int(outer[-1])
    return [Place(str(make(start))) for start in sorted(starts) if start <= last]


def _label_match(pattern: str, name: str) -> int:
    """Clients match a domain itself, or all below it where it begins with `*.`."""
    if pattern == name:
        # One more: the pattern of a wildcard may be as long as the name.
        return len(pattern) + 1
    below = pattern.startswith("*.") and name.endswith(pattern[1:])
    return len(pattern) if below else NOWHERE


@lru_cache(maxsize=16384)
def _parsed(network: str) -> IPv4Network | IPv6Network:
    return ip_network(network, strict=False)
