"""The plan of one write: objects, events of the trail, and what peers notice."""

from typing import Any

from events.audit.changes import changes_since, mark
from events.audit.reading import last_id
from events.models import AuditEvent
from meshmgmt.accesstests.selectors import states, states_changed
from meshmgmt.api.plans import Plan
from meshmgmt.planning.deeds import essence, shown
from meshmgmt.planning.peers import NOBODY, PeersBefore, Seen

_EVENT_FIELDS = ("activity_code", "target_id", "target_type", "meta", "changes")


class WriteDraft:
    """Follows one write; see `meshmgmt.api.plans.Draft`."""

    def __init__(self) -> None:
        self._peers = PeersBefore()
        self._newest = 0
        self._states: dict[str, str] = {}
        self._mark = 0

    def prepare(self) -> None:
        """Read what is large before anybody has to wait."""
        self._peers.read()

    def begin(self) -> None:
        """Note where the trail and the transaction stand."""
        self._peers.read()
        self._newest = last_id()
        self._states = states()
        self._mark = mark()

    def end(self) -> Plan:
        """Return what was done."""
        changes = [change for change in changes_since(self._mark) if change.happened]
        return _plan(
            [shown(change) for change in changes],
            _events_since(self._newest),
            self._peers.compared(),
            states_changed(self._states),
            essence(changes),
        )

    def nothing(self) -> Plan:
        """Return the plan of a write that does nothing."""
        return _plan([], [], NOBODY, [], [])


def _plan(
    objects: list[dict[str, Any]],
    events: list[dict[str, Any]],
    peers: Seen,
    tests: list[dict[str, Any]],
    deeds: Any,
) -> Plan:
    return Plan(
        shown={
            "objects": objects,
            "events": events,
            "peers": peers.shown,
            "reach": peers.reach,
            "tests": tests,
        },
        essence={"objects": deeds, "peers": peers.essence},
    )


def _events_since(newest: int) -> list[dict[str, Any]]:
    found = AuditEvent.objects.filter(id__gt=newest).order_by("id")
    return [
        {"activity": event.activity}
        | {name: getattr(event, name) for name in _EVENT_FIELDS}
        for event in found.only(*_EVENT_FIELDS)
    ]
