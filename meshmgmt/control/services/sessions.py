"""What a peer does after its login: synchronise, report, prolong, leave."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from events.activities import Activity
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.selectors import the_account
from meshmgmt.api.middleware import set_actor
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services import reporting, sso
from meshmgmt.control.services.logins import OTHERS_PEER, Session
from meshmgmt.control.services.once import spend
from meshmgmt.control.services.refusals import SENT_BEFORE, Code, Refused
from meshmgmt.core import clock, context
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.audit import record_about
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import peer_delete
from meshmgmt.inventory.standing import DELETED, standing_of

FAREWELL: Final = dt.timedelta(days=3650)
"""How long a Logout is remembered: as long as anybody may have its peer's key."""
SIGN_IN: Final = "a session is prolonged by signing in"
ENDLESS: Final = "the session of this peer does not end"


@dataclass(frozen=True, slots=True)
class SyncOpening:
    """A peer that wants to open its stream; `source` is an IP address."""

    public_key: str
    meta: pb.PeerSystemMeta
    source: str


def open_syncs(openings: Sequence[SyncOpening]) -> list[Session | Exception]:
    """Let peers open their streams as `open_sync` does; return what each one gets.

    Two queries for all of them: after a restart everybody comes back at once.
    """
    account = the_account()
    known = reporting.known_peers([opening.public_key for opening in openings])
    found: list[Session | Exception] = []
    for opening in openings:
        try:
            with context.scope(source_address=opening.source):
                peer = known.get(opening.public_key)
                found.append(_opened(peer, opening, account))
        except Exception as error:  # of this peer alone; its caller raises it
            found.append(error)
    return found


def _opened(peer: Peer | None, opening: SyncOpening, account: Account) -> Session:
    if peer is None:
        raise Refused(Code.PERMISSION_DENIED, DELETED)
    until = reporting.admitted(peer, account).until
    reporting.take_report(peer, opening.meta, opening.source)
    return Session(peer.pk, until, peer.stream_started)


def open_sync(public_key: str, meta: pb.PeerSystemMeta, source: str) -> Session:
    """Let a peer open its stream, and take in what it reports. Raises Refused.

    It need not have logged in to this server before.
    """
    [found] = open_syncs([SyncOpening(public_key, meta, source)])
    if isinstance(found, Exception):
        raise found
    return found


def logout(public_key: str, sealed: bytes) -> str:
    """Delete a peer at its own wish and return its id; it acts for its owner.

    Once for a `sealed` message: recorded and sent again, it would delete a peer that has
    come back. Raises Refused.
    """
    with context.scope(), account_write():
        peer = reporting.known_peer(public_key)
        if peer is None:
            raise Refused(Code.NOT_FOUND, f"the peer {public_key} was not found")
        if not spend(sealed, clock.now() + FAREWELL):
            raise Refused(Code.INVALID_ARGUMENT, SENT_BEFORE)
        if peer.user is not None:
            set_actor(peer.user)
        peer_delete(peer_id=peer.pk)
        return peer.pk


def extend_session(
    public_key: str, jwt: str, meta: pb.PeerSystemMeta, source: str = ""
) -> dt.datetime:
    """Let the session of a peer begin anew by its owner's token; return when it ends.

    Raises Refused.
    """
    with context.scope(source_address=source):
        if not jwt:
            raise Refused(Code.INVALID_ARGUMENT, SIGN_IN)
        peer = reporting.known_peer(public_key)
        if peer is None:
            raise Refused(Code.PERMISSION_DENIED, DELETED)
        signed_in = sso.signed_in(jwt)
        if peer.user_id != signed_in.user.pk:
            raise Refused(Code.PERMISSION_DENIED, OTHERS_PEER)
        with signed_in.acting(), account_write():
            signed_in.spend()
            until = _extend(reporting.stored_peer(peer.pk))
        reporting.take_report(peer, meta, source)
        return until


def _extend(peer: Peer) -> dt.datetime:
    reporting.admitted(peer, the_account())
    peer.last_login = clock.now()
    until = standing_of(peer, the_account()).until
    if until is None:
        raise Refused(Code.FAILED_PRECONDITION, ENDLESS)
    peer.save(update_fields=["last_login"])
    record_about(peer, Activity.USER_PEER_SESSION_EXTEND)
    return until
