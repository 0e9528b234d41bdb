"""Parts of maps that are equal for many peers, each made and checked once.

What is about a peer or a zone is kept as long as it stays the same, also from one
snapshot to the next.
"""

from collections.abc import Callable, Mapping, Set
from functools import lru_cache
from typing import Final, TypeVar

from meshmgmt.control import checks
from meshmgmt.control.encoding.firewall import PROTOCOLS
from meshmgmt.control.encoding.wire import Field
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.mesh.names import peer_records
from meshmgmt.mesh.result import RouteEntry, RouteRule
from meshmgmt.mesh.snapshot import NameserverGroup, Peer, Zone

_REMOTE_PEERS: Final = Field(pb.NetworkMap, "remotePeers")
_CUSTOM_ZONES: Final = Field(pb.DNSConfig, "CustomZones")
_NAMESERVER_GROUPS: Final = Field(pb.DNSConfig, "NameServerGroups")
_ROUTES: Final = Field(pb.NetworkMap, "Routes")
_ROUTE_RULES: Final = Field(pb.NetworkMap, "routesFirewallRules")
_RECORDS: Final = Field(pb.CustomZone, "Records")
_NAME: Final = Field(pb.SimpleRecord, "Name")
_RDATA: Final = Field(pb.SimpleRecord, "RData")
_RECORD_TYPES: Final = {"A": 1, "CNAME": 5, "AAAA": 28}
_NS_TYPES: Final = {"udp": 1}
_IPV4, _IPV6, _DOMAINS = 1, 2, 3

Key = TypeVar("Key")


class Parts(dict[Key, bytes]):
    """Encoded parts by key, made when they are first asked for."""

    def __init__(self, make: Callable[[Key], bytes]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: Key) -> bytes:
        part = self[key] = self._make(key)
        return part

    def keep(self, before: Mapping[Key, bytes], keys: Set[Key]) -> None:
        """Take over those of some keys that were made before."""
        self.update({key: before[key] for key in before.keys() & keys})


def remote_peer(peer: Peer, domain: str, ipv6: bool) -> bytes:
    """The entry about a peer in the maps of others, as field of a NetworkMap."""
    entry = pb.RemotePeerConfig(
        wgPubKey=peer.key,
        allowedIps=[f"{peer.ip}/32"],
        sshConfig=pb.SSHConfig(sshPubKey=peer.ssh_key.encode()),
        fqdn=fqdn(peer, domain),
        agentVersion=peer.version,
    )
    if ipv6 and peer.ipv6 is not None:
        entry.allowedIps.append(f"{peer.ipv6}/128")
    checks.check_remote(entry)
    return _REMOTE_PEERS(entry.SerializeToString())


def peer_names(peer: Peer, domain: str, ipv6: bool) -> bytes:
    """The records of a peer in the peers' zone, as field of a CustomZone."""
    return b"".join(
        _record(name, type_, content, ttl)
        for name, type_, content, ttl, _ in peer_records(peer, domain, ipv6=ipv6)
    )


def fqdn(peer: Peer, domain: str) -> str:
    """The name of a peer, "" without a domain."""
    return f"{peer.label}.{domain}" if domain else ""


def custom_zone(zone: Zone) -> bytes:
    """A custom zone, as field of a DNSConfig."""
    head = pb.CustomZone(
        Domain=f"{zone.domain}.",
        SearchDomainDisabled=not zone.search,
        NonAuthoritative=True,
    )
    records = [
        # Names on the wire are absolute.
        _record(f"{name}.", type_, f"{content}." if type_ == "CNAME" else content, ttl)
        for name, type_, content, ttl, _ in zone.records
    ]
    body = b"".join((head.SerializeToString(), *records))
    return _CUSTOM_ZONES(body)


def nameserver_group(group: NameserverGroup) -> bytes:
    """A nameserver group, as field of a DNSConfig."""
    entry = pb.NameServerGroup(
        NameServers=[
            pb.NameServer(
                IP=server.ip, NSType=_NS_TYPES.get(server.ns_type, 0), Port=server.port
            )
            for server in group.nameservers
        ],
        Primary=group.primary,
        Domains=group.domains,
        SearchDomainsEnabled=group.search,
    )
    checks.check_nameserver_group(entry)
    return _NAMESERVER_GROUPS(entry.SerializeToString())


def routes(peers: Mapping[str, Peer]) -> Parts[RouteEntry]:
    """Routes, as fields of a NetworkMap."""
    return Parts(lambda entry: _route(entry, peers[entry.peer_id].key))


def _route(entry: RouteEntry, router_key: str) -> bytes:
    family = _IPV6 if ":" in entry.network else _IPV4
    made = pb.Route(
        ID=entry.id,
        Network=entry.network,
        NetworkType=_DOMAINS if entry.domains else family,
        Peer=router_key,
        Metric=entry.metric,
        Masquerade=entry.masquerade,
        NetID=entry.net_id,
        Domains=entry.domains,
        keepRoute=entry.keep_route,
        skipAutoApply=entry.skip_auto_apply,
    )
    return _ROUTES(made.SerializeToString())


def route_rule(rule: RouteRule) -> bytes:
    """What a router lets through, as field of a NetworkMap."""
    info = pb.PortInfo()
    if rule.port is not None:
        info.port = rule.port
    elif rule.ports is not None:
        info.range.start, info.range.end = rule.ports
    made = pb.RouteFirewallRule(
        sourceRanges=rule.sources,
        action=pb.RuleAction.ACCEPT if rule.accept else pb.RuleAction.DROP,
        destination=rule.destination,
        protocol=PROTOCOLS[rule.protocol],
        portInfo=info,
        isDynamic=bool(rule.domains),
        domains=rule.domains,
        PolicyID=rule.policy_id.encode(),
        RouteID=rule.route_id,
    )
    return _ROUTE_RULES(made.SerializeToString())


@lru_cache(maxsize=4096)
def _kind(type_: str, ttl: int) -> bytes:
    """The fields of a record that many have in common."""
    made = pb.SimpleRecord(Type=_RECORD_TYPES.get(type_, 0), Class="IN", TTL=ttl)
    checks.check_record(made)
    return made.SerializeToString()


def _record(name: str, type_: str, content: str, ttl: int) -> bytes:
    """A record, as field of a CustomZone."""
    return _RECORDS(_NAME(name.encode()) + _kind(type_, ttl) + _RDATA(content.encode()))
