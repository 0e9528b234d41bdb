"""What one peer gets as its DNS configuration, and why; pure, without Django."""

from dns.effective.compute import Configurator, peer_config
from dns.effective.result import (
    EffectiveGroup,
    EffectiveZone,
    Excluded,
    PeerDns,
    Reason,
    SearchDomain,
    VisiblePeer,
    to_json,
)
from dns.effective.snapshot import (
    Nameserver,
    NameserverGroup,
    Peer,
    Record,
    Snapshot,
    Zone,
)

__all__ = [
    "Configurator",
    "EffectiveGroup",
    "EffectiveZone",
    "Excluded",
    "Nameserver",
    "NameserverGroup",
    "Peer",
    "PeerDns",
    "Reason",
    "Record",
    "SearchDomain",
    "Snapshot",
    "VisiblePeer",
    "Zone",
    "peer_config",
    "to_json",
]
