"""The message for one peer, put together from parts."""

import hashlib
import ipaddress
from collections.abc import Iterable, Mapping, Set
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple

from google.protobuf.timestamp_pb2 import Timestamp

from meshmgmt.control import checks
from meshmgmt.control.encoding import parts
from meshmgmt.control.encoding.firewall import FirewallRules
from meshmgmt.control.encoding.wire import Blocks, Field, number
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.mesh import Mesh, NetworkMap
from meshmgmt.mesh.firewall import receiver
from meshmgmt.mesh.snapshot import Peer, Settings, Zone
from meshmgmt.mesh.versions import at_least, is_development

_NETWORK_MAP: Final = Field(pb.SyncResponse, "NetworkMap")
_PEER_CONFIG: Final = Field(pb.SyncResponse, "peerConfig")
_MAP_PEER_CONFIG: Final = Field(pb.NetworkMap, "peerConfig")
_DNS_CONFIG: Final = Field(pb.NetworkMap, "DNSConfig")
_DOMAIN: Final = Field(pb.CustomZone, "Domain")
_CUSTOM_ZONES: Final = Field(pb.DNSConfig, "CustomZones")
_SSH_AUTH: Final = Field(pb.NetworkMap, "sshAuth")

OWN_PEERS_SINCE: Final = "0.29.3"
"""Older clients look for other peers beside the network map."""
USER_CLAIM: Final = "sub"
"""The claim that names the user of a token."""


class Encoded(NamedTuple):
    """A message in parts, the serial left out: the network map, and what goes around it."""

    before: bytes
    network_map: tuple[bytes, ...]
    after: bytes

    def differs(self, other: "Encoded") -> bool:
        """Tell whether a message is another one, however it is put together."""
        return self != other and self.message(0) != other.message(0)

    def message(self, serial: int) -> bytes:
        """The serialized SyncResponse, without netbirdConfig."""
        first = number(pb.NetworkMap, "Serial", serial)
        length = len(first) + sum(map(len, self.network_map))
        head = _NETWORK_MAP.header(length)
        return b"".join((self.before, head, first, *self.network_map, self.after))


class _Family:
    """What is about single peers, for receivers with or without IPv6."""

    def __init__(
        self, peers: Mapping[str, Peer], settings: Settings, *, ipv6: bool
    ) -> None:
        domain = settings.dns_domain
        self.remotes: parts.Parts[str] = parts.Parts(
            lambda id_: parts.remote_peer(peers[id_], domain, ipv6)
        )
        self.names: parts.Parts[str] = parts.Parts(
            lambda id_: parts.peer_names(peers[id_], domain, ipv6)
        )
        self.remote_blocks = Blocks(self.remotes.__getitem__)
        self.name_blocks = Blocks(self.names.__getitem__)

    def keep(self, before: "_Family", ids: Set[str]) -> None:
        """Take over what is about peers that did not change."""
        self.remotes.keep(before.remotes, ids)
        self.names.keep(before.names, ids)


class Encoder:
    """Encodes maps of one mesh; keeps what stays the same from one mesh to the next."""

    def __init__(self) -> None:
        self._peers: Mapping[str, Peer] = {}
        self._settings = Settings()
        self._zones: Mapping[str, Zone] = {}
        self._zone_parts: parts.Parts[str] = parts.Parts(str.encode)
        self._families: dict[bool, _Family] = {}

    def use(self, mesh: Mesh) -> None:
        """Encode maps of this mesh from now on."""
        before, old_peers, old_settings = self._families, self._peers, self._settings
        self._peers = peers = mesh.membership.peers
        self._settings = settings = mesh.snapshot.settings
        self._families = {
            ipv6: _Family(peers, settings, ipv6=ipv6) for ipv6 in (False, True)
        }
        if old_settings.dns_domain == settings.dns_domain:
            # Peers that were not read anew are the same objects.
            same = {id_ for id_, peer in peers.items() if old_peers.get(id_) is peer}
            for ipv6, family in before.items():
                self._families[ipv6].keep(family, same)
        self._use_zones({zone.id: zone for zone in mesh.snapshot.zones})
        groups = {group.id: group for group in mesh.snapshot.nameserver_groups}
        # Anew: they are about sides, which each mesh makes for itself.
        self._rules = FirewallRules(peers)
        self._routes = parts.routes(peers)
        self._servers: parts.Parts[str] = parts.Parts(
            lambda id_: parts.nameserver_group(groups[id_])
        )

    def _use_zones(self, zones: Mapping[str, Zone]) -> None:
        old, before, self._zones = self._zones, self._zone_parts, zones
        self._zone_parts = parts.Parts(lambda id_: parts.custom_zone(zones[id_]))
        same = {id_ for id_ in before.keys() & zones if zones[id_] == old[id_]}
        self._zone_parts.keep(before, same)

    def encode(self, found: NetworkMap) -> Encoded:
        """The message for a peer of the mesh. Raises Unsendable."""
        own = self.peer_config(found).SerializeToString()
        family, understands = self._families[found.peer.has_ipv6], receiver(found.peer)
        remotes = family.remote_blocks.of(found.remotes)
        of_grants = (self._rules.of(grant, understands) for grant in found.grants)
        rules = list(filter(None, chain.from_iterable(of_grants)))
        route_rules = [parts.route_rule(rule) for rule in found.route_rules]
        empty = number(pb.SyncResponse, "remotePeersIsEmpty", not remotes)
        return Encoded(
            before=_PEER_CONFIG(own) + empty,
            network_map=(
                _MAP_PEER_CONFIG(own),
                *remotes,
                *rules,
                *route_rules,
                _empty_flags(remotes, rules, route_rules),
                *map(self._routes.__getitem__, found.routes),
                *self._dns(found),
                self._ssh_auth(found),
            ),
            after=_after(tuple(found.files), found.login_ends)
            + _for_old_client(found.peer, remotes),
        )

    def peer_config(self, network_map: NetworkMap) -> pb.PeerConfig:
        """What a peer is told about itself. Raises Unsendable."""
        peer, settings = network_map.peer, self._settings
        config = pb.PeerConfig(
            address=f"{peer.ip}/{settings.prefix_length}",
            sshConfig=pb.SSHConfig(sshEnabled=network_map.ssh_enabled),
            fqdn=parts.fqdn(peer, settings.dns_domain),
            RoutingPeerDnsResolutionEnabled=settings.routing_peer_dns,
            LazyConnectionEnabled=settings.lazy_connections,
            autoUpdate=pb.AutoUpdateSettings(
                version=settings.auto_update_version,
                alwaysUpdate=settings.auto_update_always,
            ),
        )
        if network_map.ssh_enabled and settings.jwt is not None:
            config.sshConfig.jwtConfig.issuer = settings.jwt.issuer
            config.sshConfig.jwtConfig.audience = settings.jwt.audiences[0]
            config.sshConfig.jwtConfig.audiences.extend(settings.jwt.audiences)
            config.sshConfig.jwtConfig.keysLocation = settings.jwt.keys_location
        if peer.has_ipv6 and settings.prefix_length_v6 is not None:
            packed = ipaddress.IPv6Address(peer.ipv6 or "").packed
            config.address_v6 = packed + bytes([settings.prefix_length_v6])
        checks.check_peer_config(config)
        return config

    def _dns(self, found: NetworkMap) -> list[bytes]:
        """The fields of DNSConfig, with what stands before them."""
        port = number(pb.DNSConfig, "ForwarderPort", found.forwarder_port)
        if found.dns is None:
            return [_DNS_CONFIG(port)]
        zones = [self._zone_parts[zone.id] for zone in found.dns.zones]
        groups = [self._servers[group.id] for group in found.dns.nameserver_groups]
        own = self._own_zone(found)
        checks.check_zones_together(own=bool(own), custom=len(zones))
        on = number(pb.DNSConfig, "ServiceEnable", 1)
        fields = [on, *groups, *own, *zones, port]
        length = sum(map(len, fields))
        return [_DNS_CONFIG.header(length), *fields]

    def _own_zone(self, found: NetworkMap) -> list[bytes]:
        """The peers' zone in parts, first what stands before it; none without domain."""
        domain = self._settings.dns_domain
        if not domain:
            return []
        family = self._families[found.peer.has_ipv6]
        records = [
            _DOMAIN(f"{domain}.".encode()),
            family.names[found.peer.id],
            *family.name_blocks.of(found.names),
        ]
        length = sum(map(len, records))
        return [_CUSTOM_ZONES.header(length), *records]

    def _ssh_auth(self, found: NetworkMap) -> bytes:
        """Who may sign in; sent empty too, for clients keep what they are not told."""
        if not found.takes_part:
            return b""
        return _ssh_auth(tuple(found.ssh_logins.items()))


def closing_message(serial: int, forwarder_port: int) -> bytes:
    """The last message for a peer that is deleted: it knows nobody and lets nobody in."""
    return pb.SyncResponse(
        remotePeersIsEmpty=True,
        NetworkMap=pb.NetworkMap(
            Serial=serial,
            remotePeersIsEmpty=True,
            firewallRulesIsEmpty=True,
            routesFirewallRulesIsEmpty=True,
            DNSConfig=pb.DNSConfig(ForwarderPort=forwarder_port),
        ),
    ).SerializeToString()


def _for_old_client(peer: Peer, remotes: Iterable[bytes]) -> bytes:
    # Nearly all are newer, and get no second list.
    if is_development(peer.version) or at_least(peer.version, OWN_PEERS_SINCE):
        return b""
    entries = pb.NetworkMap.FromString(b"".join(remotes)).remotePeers
    return pb.SyncResponse(remotePeers=entries).SerializeToString()


def _empty_flags(
    remotes: list[bytes], rules: list[bytes], route_rules: list[bytes]
) -> bytes:
    """Say so where a list is empty: clients take silence for "everything allowed"."""
    return (
        number(pb.NetworkMap, "remotePeersIsEmpty", not remotes)
        + number(pb.NetworkMap, "firewallRulesIsEmpty", not rules)
        + number(pb.NetworkMap, "routesFirewallRulesIsEmpty", not route_rules)
    )


@lru_cache(maxsize=1024)
def _after(files: tuple[tuple[str, ...], ...], login_ends: float | None) -> bytes:
    """Files to watch, and the end of the login (a zero timestamp: none)."""
    ends = Timestamp()
    if login_ends is not None:
        ends.FromMicroseconds(round(login_ends * 1_000_000))
    message = pb.SyncResponse(sessionExpiresAt=ends)
    for paths in files:
        message.Checks.add(Files=paths)
    return message.SerializeToString()


@lru_cache(maxsize=64)
def _ssh_auth(logins: tuple[tuple[str, frozenset[str]], ...]) -> bytes:
    users = sorted(frozenset().union(*(names for _, names in logins)))
    place = {user: index for index, user in enumerate(users)}
    auth = pb.SSHAuth(UserIDClaim=USER_CLAIM, AuthorizedUsers=map(_digest, users))
    for login, names in sorted(logins):
        auth.machine_users[login].indexes.extend(sorted(place[name] for name in names))
    # Maps are written in any order else, and an equal message would be sent again.
    return _SSH_AUTH(auth.SerializeToString(deterministic=True))


def _digest(user: str) -> bytes:
    return hashlib.blake2b(user.encode(), digest_size=16).digest()
