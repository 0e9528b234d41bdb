"""Login: a known peer comes back, or a new one is enrolled."""

import datetime as dt
from dataclasses import dataclass
from typing import Final

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.accounts.selectors import the_account
from meshmgmt.control.protocol import management_pb2
from meshmgmt.control.services import sso
from meshmgmt.control.services.enrolment import NO_EXTRA_LABELS, enrol
from meshmgmt.control.services.meta import ssh_key_of
from meshmgmt.control.services.refusals import Code, Refused
from meshmgmt.control.services.reporting import known_peer, stored_peer, take_report
from meshmgmt.core import clock, context
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.audit import peer_meta
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.standing import EXPIRED, Standing, standing_of

NO_META: Final = "a login must say what machine it comes from"
OTHERS_PEER: Final = "this peer does not belong to you"


@dataclass(frozen=True, slots=True)
class Session:
    """A peer that may go on; `session_expires_at` is None when nothing ends it."""

    peer_id: str
    session_expires_at: dt.datetime | None


def login(
    public_key: str, request: management_pb2.LoginRequest, source: str
) -> Session:
    """Let a peer in. `public_key` is that of the envelope, `source` an IP address.

    Raises Refused.
    """
    with context.scope(source_address=source):
        if not request.HasField("meta"):
            raise Refused(Code.FAILED_PRECONDITION, NO_META)
        peer = known_peer(public_key)
        if peer is None:
            peer = enrol(public_key, request, source)
            standing = standing_of(peer, the_account())
        else:
            standing = _again(peer, request, source)
        return Session(peer.pk, standing.until)


def _again(peer: Peer, request: management_pb2.LoginRequest, source: str) -> Standing:
    """Let a known peer in; a setup key that it shows does not matter."""
    if request.jwtToken:
        peer = _sign_in(peer, request.jwtToken)
    standing = standing_of(peer, the_account())
    if not standing.allowed:
        raise Refused(Code.PERMISSION_DENIED, standing.reason)
    if request.dnsLabels and not peer.allow_extra_dns_labels:
        raise Refused(Code.PERMISSION_DENIED, NO_EXTRA_LABELS)
    take_report(peer, request.meta, source, **ssh_key_of(request))
    return standing


def _sign_in(peer: Peer, token: str) -> Peer:
    """Let the owner begin an expired session anew; others change nothing."""
    signed_in = sso.signed_in(token)
    user = signed_in.user
    if peer.user_id != user.pk:
        raise Refused(Code.PERMISSION_DENIED, OTHERS_PEER)
    with signed_in.acting(), account_write():
        signed_in.spend()
        found = stored_peer(peer.pk)
        if standing_of(found, the_account()).reason == EXPIRED:
            _renew(found)
        return found


def _renew(peer: Peer) -> None:
    flagged = peer.login_expired
    peer.last_login = clock.now()
    peer.login_expired = False
    peer.save(update_fields=["last_login", "login_expired"])
    if not flagged:  # else the change of the flag leaves the event
        audit_record(
            Activity.USER_PEER_LOGIN,
            target_id=peer.pk,
            target_type="peer",
            meta=peer_meta(peer),
        )
