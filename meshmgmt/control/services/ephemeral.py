"""Ephemeral peers go by themselves, ten minutes after their stream ended."""

import datetime as dt
import logging
from typing import Final

from django.db.models import F
from django.db.models.functions import Coalesce

from meshmgmt.core import clock, context
from meshmgmt.core.errors import ServiceError
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.contributions import contributions
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.models.peers import PeerQuerySet
from meshmgmt.inventory.services.peers import peer_delete

EVERY_SECONDS: Final = 60.0
AWAY: Final = dt.timedelta(minutes=10)
REASON: Final = "the ephemeral peer was away for ten minutes"

_LOG: Final = logging.getLogger(__name__)


def remove_ephemeral_peers() -> int:
    """Delete the ephemeral peers that were away for long enough; return how many.

    Time in which nobody could connect does not count: it begins anew when they can.
    """
    before = clock.now() - AWAY
    since = contributions.reachable_since()
    if since is None or since > before:
        return 0
    removed = 0
    # One by one: a refusal, or a peer that came back, keeps no other.
    for peer_id in _away(before).order_by("pk").values_list("pk", flat=True):
        removed += _remove(peer_id, before)
    return removed


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
