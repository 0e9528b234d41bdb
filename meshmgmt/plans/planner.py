"""The plan of one write: objects, events of the trail, and what peers notice."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import orjson
from django.db import models
from rest_framework.request import Request

from events.audit.changes import Change, changes_since, mark
from events.audit.emission import shown_change
from events.audit.reading import last_id
from events.audit.specs import spec_of
from events.models import AuditEvent
from meshmgmt.accesstests.selectors import states, states_changed
from meshmgmt.api import plans
from meshmgmt.api.permissions import check_allowed
from meshmgmt.api.plans import Plan
from meshmgmt.core import context
from meshmgmt.core.errors import NotFound
from meshmgmt.core.ids import new_id
from meshmgmt.core.roles import Operation
from meshmgmt.core.transactions import account_write, joined_write
from meshmgmt.explain.api.reports import reach_question
from meshmgmt.explain.api.serializers import ReachSerializer
from meshmgmt.explain.reaching import Question
from meshmgmt.plans.peers import NOBODY, PeersBefore, Seen

NEW: Final = "new-{}"
"""Stands for the id of the n-th object made, which the next time has another id."""
_WORD: Final = re.compile(r"\w+")
_EVENT_FIELDS: Final = ("activity_code", "target_id", "target_type", "meta", "changes")


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
        self._answer = self._answered()
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
            "objects": [_shown(change) for change in changes],
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


def _action(change: Change) -> str:
    """Return "created", "deleted", "disabled" or "changed"."""
    if change.created:
        return "created"
    if change.deleted:
        return "deleted"
    off = change.changed("enabled") and change.after["enabled"] is False
    return "disabled" if off else "changed"


def _shown(change: Change) -> dict[str, Any]:
    """Return one object and its fields, before and after, as the trail shows them."""
    return {
        "action": _action(change),
        "type": _kind(change),
        "id": str(change.pk),
        "name": _name(change.instance),
        "changes": shown_change(change),
    }


def essence(changes: list[Change]) -> list[Any]:
    """Return what the changes do, equal for two writes that do the same.

    Times and what is drawn at random are left out, for a write at another moment has
    others, and ids made anew are numbered. What the request says is compared beside it.
    """
    made = (str(change.pk) for change in changes if change.created)
    new = {key: NEW.format(number) for number, key in enumerate(made, start=1)}
    # Ids are replaced in the text: they stand in lists and values of other objects, too. In
    # one go, for the write lock is held meanwhile.
    told = orjson.dumps([_essential(change) for change in changes]).decode()
    found: list[Any] = orjson.loads(
        _WORD.sub(lambda word: new.get(word[0], word[0]), told)
    )
    return found


def _essential(change: Change) -> list[Any]:
    spec = spec_of(type(change.instance))
    differing = set(spec.random) if spec is not None else set()
    differing |= {
        field.attname
        for field in change.instance._meta.concrete_fields
        if isinstance(field, models.DateTimeField)
    }
    fields = {
        name: value
        for name, value in shown_change(change).items()
        if name not in differing
    }
    return [_action(change), _kind(change), str(change.pk), fields]


def _name(instance: models.Model) -> str:
    name = getattr(instance, "name", "")
    # What is deleted has no key any more, which some call themselves by.
    return str(name or ("" if instance.pk is None else instance))


def _kind(change: Change) -> str:
    return change.instance._meta.model_name or ""


class _Undone(Exception):
    """Takes back what was only tried."""


def carried_out(do: Callable[[], object], may_stay: Callable[[Plan], bool]) -> Plan:
    """Do it in one transaction, under one correlation id; return what it did.

    Nothing of it stays unless `may_stay`, which is asked before the commit and may raise
    to refuse it. Raises what `do` raises.
    """
    planner = WritePlanner()
    planner.prepare()  # before the lock: a large account takes long to read
    drawn: list[Plan] = []

    def end() -> None:
        drawn.append(planner.end())
        if not may_stay(drawn[0]):
            raise _Undone

    with (
        suppress(_Undone),
        # One id for all its events, so that it can be taken back as one.
        context.scope(request_id=context.current().request_id or new_id()),
        joined_write(planner.begin, end),
        account_write(),
    ):
        do()
    return drawn[0]
