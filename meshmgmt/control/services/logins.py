"""Login: a known peer comes back, or a new one is enrolled."""

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from events.activities import Activity
from groups.selectors import all_group_id
from groups.services import change_groups_of_peers
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.access.services.enrolment import setup_key_use, usable_setup_key
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.selectors import the_account
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services import sso
from meshmgmt.control.services.refusals import Code, Refused, WrongKey
from meshmgmt.control.services.reporting import (
    admitted,
    facts_of,
    known_peer,
    plain,
    ssh_key_of,
    stored_peer,
    take_report,
)
from meshmgmt.core import clock, context
from meshmgmt.core.context import Actor
from meshmgmt.core.errors import Conflict, InvalidArgument, NotFound, PreconditionFailed
from meshmgmt.core.orderedlinks import member_keys
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.audit import record_about
from meshmgmt.inventory.labels import is_extra_label
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.reports import place_facts
from meshmgmt.inventory.services.peers import free_ipv6, peer_insert
from meshmgmt.inventory.standing import EXPIRED, Standing, standing_of

NO_META: Final = "a login must say what machine it comes from"
OTHERS_PEER: Final = "this peer does not belong to you"

MAX_EXTRA_LABELS: Final = 32

NO_METHOD: Final = "this peer is not registered: use a setup key or sign in"
BAD_KEY: Final = "the setup key is not valid"
NO_EXTRA_LABELS: Final = "this peer may not have extra DNS labels"
ENROLLED_MEANWHILE: Final = "this peer was registered just now: please try again"

_FULL: Final = frozenset({"ip", "network_range_v6"})
"""What an error is about where no address is free."""
_HAND_HELD: Final = frozenset({"iphone", "ipad"})
"""What all devices of a kind call themselves."""


@dataclass(frozen=True, slots=True)
class Session:
    """A peer that may go on; `session_expires_at` is None when nothing ends it.

    `stream_started` is the start on record of its stream, 0 without one.
    """

    peer_id: str
    session_expires_at: dt.datetime | None
    stream_started: int = 0


def login(public_key: str, request: pb.LoginRequest, source: str) -> Session:
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


def _again(peer: Peer, request: pb.LoginRequest, source: str) -> Standing:
    """Let a known peer in; a setup key that it shows does not matter."""
    if request.jwtToken:
        peer = _sign_in(peer, request.jwtToken)
    standing = admitted(peer, the_account())
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
        record_about(peer, Activity.USER_PEER_LOGIN)


def enrol(public_key: str, request: pb.LoginRequest, source: str) -> Peer:
    """Create the peer with this key. Raises Refused."""
    facts = {**facts_of(request.meta), **ssh_key_of(request), **place_facts(source)}
    labels = [label.lower() for label in request.dnsLabels]
    facts["extra_dns_labels"] = list(dict.fromkeys(labels))
    if request.jwtToken:
        return _enrol_for_user(public_key, sso.signed_in(request.jwtToken), facts)
    if request.setupKey:
        return _enrol_by_key(public_key, request.setupKey, facts)
    raise Refused(Code.PERMISSION_DENIED, NO_METHOD)


def _enrol_for_user(
    public_key: str, signed_in: sso.SignedIn, facts: dict[str, Any]
) -> Peer:
    user = signed_in.user
    _check_labels(facts, allowed=False)
    hostname = facts.get("hostname", "")
    if hostname.lower() in _HAND_HELD and user.email:
        facts["hostname"] = plain(f"{hostname}-{user.email.partition('@')[0]}")
    entitled = {
        "user_id": user.pk,
        "login_expiration_enabled": True,
        "inactivity_expiration_enabled": True,
    }
    with signed_in.acting(), account_write():
        signed_in.spend()
        groups = member_keys(UserAutoGroup, user)
        return _create(public_key, facts | entitled, groups)


def _enrol_by_key(public_key: str, plain_key: str, facts: dict[str, Any]) -> Peer:
    try:
        # First without the lock: keys that are no good must not hold others up.
        key = usable_setup_key(plain_key)
        _check_labels(facts, allowed=key.allow_extra_dns_labels)
        actor = Actor(id=key.pk, name=key.name)
        with context.scope(actor=actor), account_write():
            key, groups = setup_key_use(key_id=key.pk)
            entitled = {
                "setup_key_id": key.pk,
                "setup_key_name": key.name,
                "ephemeral": key.ephemeral,
                "allow_extra_dns_labels": key.allow_extra_dns_labels,
            }
            return _create(public_key, facts | entitled, groups)
    except (NotFound, PreconditionFailed) as error:
        reason = error.message
        raise WrongKey(BAD_KEY, reason=reason) from error


def _create(public_key: str, facts: dict[str, Any], groups: Sequence[str]) -> Peer:
    """Create the peer in the running account write, with what it is entitled to."""
    account = the_account()
    now = clock.now()
    try:
        peer = peer_insert(
            {
                **facts,
                "name": facts.get("hostname") or "peer",
                "wg_public_key": public_key,
                "ipv6": _ipv6(account, groups),
                "approval_required": account.peer_approval_enabled,
                "created_at": now,
                "last_login": now,
                "last_seen": now,
            },
            account,
        )
    except Conflict as error:  # no other value of it can be somebody else's
        raise Refused(Code.FAILED_PRECONDITION, ENROLLED_MEANWHILE) from error
    except InvalidArgument as error:
        full = not _FULL.isdisjoint(fault.field for fault in error.errors)
        code = Code.RESOURCE_EXHAUSTED if full else Code.INVALID_ARGUMENT
        raise Refused(code, error.message) from error
    change_groups_of_peers([peer.pk], join=groups)
    return peer


def _check_labels(facts: dict[str, Any], *, allowed: bool) -> None:
    labels = facts["extra_dns_labels"]
    if labels and not allowed:
        raise Refused(Code.PERMISSION_DENIED, NO_EXTRA_LABELS)
    if len(labels) > MAX_EXTRA_LABELS:
        text = f"a peer has at most {MAX_EXTRA_LABELS} extra DNS labels"
        raise Refused(Code.INVALID_ARGUMENT, text)
    for label in labels:
        if not is_extra_label(label):
            text = f"{plain(label)[:64]!r} is not a DNS label"
            raise Refused(Code.INVALID_ARGUMENT, text)


def _ipv6(account: Account, groups: Sequence[str]) -> str | None:
    """Return an address for a member of a group that has IPv6, else None."""
    enabled = set(account.ipv6_enabled_groups)
    if not (account.network_range_v6 and enabled):  # mostly: the group is not asked for
        return None
    if enabled.isdisjoint({*groups, all_group_id()}):
        return None
    return free_ipv6(account.network_range_v6)
