"""What peers that log in are told: themselves and the services, read for them alone.

The map comes with Sync. So a login waits for no map of the account, whose making takes the
longer the more peers there are, and enrolments have none made for each.
"""

from collections.abc import Sequence

from google.protobuf.timestamp_pb2 import Timestamp

from meshmgmt.control.checks import Unsendable, check_login
from meshmgmt.control.encoding import Encoder
from meshmgmt.control.protocol.management_pb2 import Checks, LoginResponse
from meshmgmt.control.server.messages import not_ready, tell_not_sent
from meshmgmt.control.server.netbirdconfig import netbird_config
from meshmgmt.control.services.logins import Session
from meshmgmt.core import clock
from meshmgmt.core.errors import NotFound
from meshmgmt.core.transactions import read_snapshot
from meshmgmt.env import Config
from meshmgmt.mesh import Mesh
from meshmgmt.meshstate import load_among


def login_responses(
    config: Config, peers: Sequence[Session]
) -> list[LoginResponse | Exception]:
    """Return what each of the peers that logged in is told, or Refused.

    As many queries for many as for one: after a restart everybody comes back at once.
    """
    try:
        with read_snapshot():
            snapshot = load_among({peer.peer_id for peer in peers})
    except NotFound:
        if len(peers) == 1:
            return [not_ready()]  # deleted just now
        return [found for peer in peers for found in login_responses(config, [peer])]
    mesh = Mesh(snapshot, clock.now().timestamp())
    encoder = Encoder()
    encoder.use(mesh)
    return [_response(config, mesh, encoder, peer) for peer in peers]


def _response(
    config: Config, mesh: Mesh, encoder: Encoder, peer: Session
) -> LoginResponse | Exception:
    found = mesh.network_map(peer.peer_id)
    # None is the zero Timestamp on the wire: the session has no end.
    expires = Timestamp()
    if peer.session_expires_at is not None:
        expires.FromDatetime(peer.session_expires_at)
    checks = [Checks(Files=paths) for paths in found.files]
    push = mesh.snapshot.settings.metrics_push
    try:
        response = LoginResponse(
            netbirdConfig=netbird_config(config, metrics_push=push),
            peerConfig=encoder.peer_config(found),
            Checks=checks,
            sessionExpiresAt=expires,
        )
        check_login(response)
    except Unsendable as error:
        tell_not_sent(peer.peer_id, error)
        return not_ready()
    return response
