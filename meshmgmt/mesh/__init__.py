"""What each peer must know of the mesh: pure functions over a snapshot of the account.

    mesh = Mesh(snapshot, now)
    mesh.network_map(peer_id)

Nothing here knows the database or the wire; `meshmgmt.control` reads snapshots and
encodes maps.
"""

from meshmgmt.mesh.affected import affected
from meshmgmt.mesh.compute import Mesh
from meshmgmt.mesh.result import NetworkMap

__all__ = ["Mesh", "NetworkMap", "affected"]
