"""The plan of one write: objects, events of the trail, and what peers notice."""

from typing import Any

from rest_framework.request import Request

from events.audit.changes import Change, changes_since, mark
from events.audit.reading import last_id
from events.models import AuditEvent
from meshmgmt.accesstests.selectors import states, states_changed
from meshmgmt.api import plans
from meshmgmt.api.permissions import check_allowed
from meshmgmt.api.plans import Plan
from meshmgmt.core.errors import NotFound
from meshmgmt.core.roles import Operation
from meshmgmt.explain.api.reports import reach_question
from meshmgmt.explain.api.serializers import ReachSerializer
from meshmgmt.explain.reaching import Question
from meshmgmt.plans.deeds import essence, shown
from meshmgmt.plans.peers import NOBODY, PeersBefore, Seen

_EVENT_FIELDS = ("activity_code", "target_id", "target_type", "meta", "changes")


class WritePlanner:
    """Follows one write; see `meshmgmt.api.plans.Planner`.

    With a question it is told how that is answered before and after.
    """

    def __init__(self, question: Question | None = None) -> None:
        self._question = question
        self._answer: Any = None
        self._peers = PeersBefore()
        self._newest = 0
        self._states: dict[str, str] = {}
        self._mark = 0

    def prepare(self) -> None:
        """Read what is large before anybody has to wait."""
        self._peers.read()

    def begin(self) -> None:
        """Note where the trail and the transaction stand."""
        self._peers.read()  # under the lock now: only what was written since prepare()
        self._newest = last_id()
        self._states = states()
        self._answer = self._answered()
        self._mark = mark()

    def end(self) -> Plan:
        """Return what was done."""
        # The notes that the trail is made of too, so a plan misses nothing that is audited.
        changes = [change for change in changes_since(self._mark) if change.happened]
        return _plan(
            changes,
            _events_since(self._newest),
            self._peers.compared(),
            states_changed(self._states),
            self._explained(self._answered()),
        )

    def nothing(self) -> Plan:
        """Return the plan of a write that does nothing."""
        return _plan([], [], NOBODY, [], self._explained(self._answer))

    def _answered(self) -> Any:
        """The answer as it is now; None if what is asked about is not there."""
        try:
            return self._question and ReachSerializer.plain(self._question.answered())
        except NotFound:
            return None

    def _explained(self, after: Any) -> dict[str, Any]:
        if self._question is None:
            return {}
        return {"explain": {"before": self._answer, "after": after}}


def planner_of(request: Request) -> WritePlanner:
    """Return what follows the write of a request, with the question of its query.

    Raises Forbidden, and what makes no question.
    """
    if not any(name in request.query_params for name in plans.QUESTION):
        return WritePlanner()
    user: Any = request.user
    check_allowed(user, "policies", Operation.READ)
    return WritePlanner(reach_question(request))


def _plan(
    changes: list[Change],
    events: list[dict[str, Any]],
    peers: Seen,
    tests: list[dict[str, Any]],
    explained: dict[str, Any],
) -> Plan:
    return Plan(
        shown={
            "objects": [shown(change) for change in changes],
            "events": events,
            "peers": peers.shown,
            "reach": peers.reach,
            "tests": tests,
            **explained,
        },
        essence={"objects": essence(changes), "peers": peers.essence},
    )


def _events_since(newest: int) -> list[dict[str, Any]]:
    found = AuditEvent.objects.filter(id__gt=newest).order_by("id")
    return [
        {"activity": event.activity}
        | {name: getattr(event, name) for name in _EVENT_FIELDS}
        for event in found.only(*_EVENT_FIELDS)
    ]
