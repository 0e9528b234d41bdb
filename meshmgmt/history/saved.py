"""What a write did to peers, asked for after it: the write itself costs nothing more."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from events.audit.reading import span_of_request
from events.models import AuditEvent
from meshmgmt.control.changes import newest_serial
from meshmgmt.control.server.figures import Delivered, delivered
from meshmgmt.core import clock
from meshmgmt.core.collector import nothing_to_collect
from meshmgmt.core.printable import counted
from meshmgmt.history.past import account_after
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh import Mesh, affected
from meshmgmt.meshstate import load
from meshmgmt.plans.peers import told_anew

FEW_PEERS: Final = 1000
_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class Effect:
    """Who gets another map; not `exact` is who may. Maps from `serial` on are these."""

    peer_ids: frozenset[str]
    exact: bool
    serial: int

    def progress(self) -> Delivered:
        return delivered(self.peer_ids, self.serial)


def effect_of(event: AuditEvent) -> Effect:
    """Return what the request of an event did to peers.

    Raises InvalidArgument when too much was changed since.
    """
    return _effect(event.request_id, *span_of_request(event))


def is_quick() -> bool:
    """Tell whether that takes no longer than a page may: two maps are made for it."""
    return Peer.objects.count() <= FEW_PEERS


def in_words(effect: Effect, progress: Delivered) -> str:
    """Return a sentence such as `12 peers get another map; 9 of 9 online have it.`"""
    number = len(effect.peer_ids)
    if not number:
        return "No peer gets another map."
    verb = "get" if effect.exact else "may get"
    verb += "s" if number == 1 and effect.exact else ""
    said = f"{counted(number, 'peer')} {verb} another map"
    if not progress.online:
        return f"{said}; {'it is not' if number == 1 else 'none of them is'} online."
    has = "has" if progress.having == 1 else "have"
    said += f"; {progress.having:,} of {progress.online:,} online {has} it"
    if progress.elsewhere:
        said += f", {progress.elsewhere:,} are served by other hosts, which know"
    return f"{said}."


# What a request did never changes, and its page asks again and again for the progress.
@lru_cache(maxsize=_KEPT)
def _effect(request_id: str, first: int, last: int) -> Effect:
    """Compare the account before and after: as long as reading it twice takes."""
    # Read first: what others write while maps are made must not count as this change.
    serial = newest_serial()
    before, after = _mesh_after(first - 1), _mesh_after(last)
    return Effect(*told_anew(before, after, affected(before, after)), serial)


def _mesh_after(event_id: int) -> Mesh:
    with account_after(event_id), nothing_to_collect():
        return Mesh(load(), clock.now().timestamp())
