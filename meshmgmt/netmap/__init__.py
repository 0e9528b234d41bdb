"""What each peer must know of the mesh: pure functions over a snapshot of the account.

    mesh = Mesh(snapshot, now)
    mesh.network_map(peer_id)

Nothing here knows the database or the wire; `meshmgmt.control` reads snapshots and
encodes maps.
"""

from meshmgmt.netmap.affected import affected
from meshmgmt.netmap.compute import Mesh
from meshmgmt.netmap.result import NetworkMap

__all__ = ["Mesh", "NetworkMap", "affected"]
