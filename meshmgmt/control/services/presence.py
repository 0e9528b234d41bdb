"""Which peers are connected: written in batches, unaudited, without the account lock.

`started` is when a stream began, in Unix nanoseconds. It fences: a stream that began
earlier than the one on record changes nothing. Streams are held by processes, which say
every few seconds that they live; peers of one that does not any more are not connected.
Ephemeral peers go by themselves, ten minutes after their stream ended.
"""

import datetime as dt
import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce

from meshmgmt.control.models import StreamProcess
from meshmgmt.core import clock, context
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.transactions import account_write, queued_write
from meshmgmt.inventory import contributions
from meshmgmt.inventory.models import Peer, PeerQuerySet
from meshmgmt.inventory.services.peers import peer_delete

BEAT_SECONDS: Final = 15.0
LOST_SECONDS: Final = 60.0
EPHEMERAL_SECONDS: Final = 60.0
"""How often it is looked for ephemeral peers that were away for long enough."""
AWAY: Final = dt.timedelta(minutes=10)
REASON: Final = "the ephemeral peer was away for ten minutes"

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connected:
    """A stream began."""

    peer_id: str
    started: int


@dataclass(frozen=True, slots=True)
class Disconnected:
    """A stream that began at `started` is over."""

    peer_id: str
    started: int


Change = Connected | Disconnected


def write_presence(process_id: str, changes: Iterable[Change]) -> None:
    """Write what happened since the last call, in one short transaction."""
    began, ended = _folded(changes)
    now = clock.now()
    # In SQL: two statements for any number of peers, and no signal for what is not
    # audited.
    with queued_write(), connection.cursor() as cursor:
        if began:
            cursor.executemany(
                "UPDATE inventory_peer SET connected = %s, last_seen = %s,"
                " stream_started = %s, stream_process = %s"
                " WHERE id = %s AND stream_started <= %s",
                [
                    (here, now, started, process_id if here else "", peer_id, started)
                    for peer_id, started, here in began
                ],
            )
        if ended:
            cursor.executemany(
                "UPDATE inventory_peer SET connected = %s, last_seen = %s,"
                " stream_process = '' WHERE id = %s AND stream_started = %s",
                [(False, now, peer_id, started) for peer_id, started in ended],
            )


def _folded(
    changes: Iterable[Change],
) -> tuple[list[tuple[str, int, bool]], list[tuple[str, int]]]:
    """Return the newest stream that began per peer, with whether it is open still.

    And the streams that ended, where none began later. Both in the order of ids, so that
    two processes cannot wait for each other.
    """
    newest: dict[str, int] = {}
    over: dict[str, set[int]] = {}
    for change in changes:
        if isinstance(change, Connected):
            newest[change.peer_id] = max(change.started, newest.get(change.peer_id, 0))
        else:
            over.setdefault(change.peer_id, set()).add(change.started)
    began = [
        (peer_id, started, started not in over.get(peer_id, ()))
        for peer_id, started in sorted(newest.items())
    ]
    ended = [
        (peer_id, max(starts))
        for peer_id, starts in sorted(over.items())
        if max(starts) > newest.get(peer_id, 0)
    ]
    return began, ended


def beat(process_id: str, served: float) -> bool:
    """Say that the process lives; to be called every BEAT_SECONDS.

    `served` are the seconds since this returned False, which it does when the process is
    new or was given up: then its open streams, if any, are to be written as connected
    again.
    """
    now = clock.now()
    # Anew each time: since it began the clock may have been set.
    begun = now - dt.timedelta(seconds=served)
    with queued_write():
        known = StreamProcess.objects.filter(pk=process_id).update(
            started_at=begun, seen_at=now
        )
        if not known:
            StreamProcess.objects.create(pk=process_id, started_at=now, seen_at=now)
    return bool(known)


def leave(process_id: str) -> None:
    """Mark every peer of a process that ends as not connected."""
    with queued_write():
        _let_go(process_id, clock.now())


def reachable_since() -> dt.datetime | None:
    """Return since when peers can connect; see `meshmgmt.inventory.contributions`."""
    if not settings.SVC.grpc_bind:
        return None
    oldest = _alive().order_by("started_at").first()
    return clock.now() if oldest is None else oldest.started_at


def somebody_serves() -> bool:
    """Tell whether some process, of any host, said lately that it serves peers."""
    return _alive().exists()


def _alive() -> QuerySet[StreamProcess]:
    now, lost = clock.now(), dt.timedelta(seconds=LOST_SECONDS)
    # What lies ahead is of a clock that was set back since.
    return StreamProcess.objects.filter(seen_at__range=(now - lost, now + lost))


def forget_lost_processes() -> int:
    """Let go of the peers of processes that say nothing any more; return how many."""
    lost = StreamProcess.objects.exclude(pk__in=_alive())
    if not lost.exists():  # most of the time: no need to queue for a write
        return 0
    with queued_write():
        return sum(
            _let_go(process_id, seen_at)
            for process_id, seen_at in lost.values_list("pk", "seen_at")
        )


def _let_go(process_id: str, seen_at: dt.datetime) -> int:
    # Also of one that gave a sign just now: its next one finds out, see `beat`.
    StreamProcess.objects.filter(pk=process_id).delete()
    return Peer.objects.filter(stream_process=process_id).unaudited_update(
        connected=False, stream_process="", last_seen=seen_at
    )


def remove_ephemeral_peers() -> int:
    """Delete the ephemeral peers that were away for long enough; return how many.

    Time in which nobody could connect does not count: it begins anew when they can.
    """
    before = clock.now() - AWAY
    since = contributions.reachable_since.only()
    if since is None or since > before:
        return 0
    away = _away(before).order_by("pk").values_list("pk", flat=True)
    # One by one: a refusal, or a peer that came back, keeps no other.
    return sum(_remove(peer_id, before) for peer_id in away)


def _away(before: dt.datetime) -> PeerQuerySet:
    return Peer.objects.annotate(left=Coalesce(F("last_seen"), F("created_at"))).filter(
        left__lte=before, ephemeral=True, connected=False
    )


def _remove(peer_id: str, before: dt.datetime) -> int:
    try:
        with context.scope(reason=REASON), account_write():
            if not _away(before).filter(pk=peer_id).exists():
                return 0  # back meanwhile
            peer_delete(peer_id=peer_id)
    except ServiceError as error:
        _LOG.info("an ephemeral peer stays: %s", error, extra={"peer_id": peer_id})
        return 0
    return 1
