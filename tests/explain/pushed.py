"""What a peer knows of names from the message that it is pushed, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace

from meshmgmt.control.encoding.message import Encoder
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.mesh import Mesh
from meshmgmt.mesh.snapshot import Nameserver, NameserverGroup, Record, Zone
from tests.explain.naive_resolver import Host

TYPES = {1: "A", 5: "CNAME", 28: "AAAA"}


def message(mesh: Mesh, peer_id: str) -> pb.NetworkMap:
    """The network map as it goes over the wire. Raises Unsendable."""
    encoder = Encoder()
    encoder.use(mesh)
    encoded = encoder.encode(mesh.network_map(peer_id))
    return pb.SyncResponse.FromString(encoded.message(1)).NetworkMap


class Pushed(Host):
    """A peer that holds a pushed map."""

    def __init__(self, network_map: pb.NetworkMap) -> None:
        config = network_map.DNSConfig
        zones = list(map(_zone, config.CustomZones))
        own = [z for z, at in zip(zones, config.CustomZones, strict=True) if _own(at)]
        self.managed = config.ServiceEnable
        self.all_zones = zones
        self.domain = own[0].domain if own else ""
        self._names = own[0].records if own else ()
        self.zones = [zone for zone in zones if zone not in own]
        self.groups = list(map(_servers, config.NameServerGroups))

    def names(self) -> Iterator[tuple[str, str, str]]:
        """(name, type, content) of the authoritative zone."""
        for record in self._names:
            yield record.name, record.type, record.content


def _own(zone: pb.CustomZone) -> bool:
    return not zone.NonAuthoritative


def _zone(zone: pb.CustomZone) -> Zone:
    records = tuple(
        Record(r.Name.rstrip("."), TYPES[r.Type], r.RData.rstrip("."), r.TTL)
        for r in zone.Records
    )
    domain, search = zone.Domain.rstrip("."), not zone.SearchDomainDisabled
    return Zone("", "", domain, frozenset(), records, search=search)


def _servers(group: pb.NameServerGroup) -> NameserverGroup:
    servers = tuple(Nameserver(s.IP, s.Port) for s in group.NameServers)
    plain = NameserverGroup("", "", servers, frozenset(), tuple(group.Domains))
    return replace(plain, primary=group.Primary, search=group.SearchDomainsEnabled)
