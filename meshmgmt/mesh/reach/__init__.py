"""Whether one peer may begin something with a peer, resource, address or domain."""

from meshmgmt.mesh.reach.model import Because, Destination, Obstacle, Verdict, Via
from meshmgmt.mesh.reach.traffic import LAST_PORT, PROTOCOLS, WITH_PORTS, Traffic
from meshmgmt.mesh.reach.verdict import Maps, verdict

__all__ = ["LAST_PORT", "PROTOCOLS", "WITH_PORTS", "Because", "Destination", "Maps",
    "Obstacle", "Traffic", "Verdict", "Via", "verdict"]  # fmt: skip
