"""`?dry_run=true` and `X-Plan-Hash`: what a write would do, and doing just that.

A dry run is the write itself, in its own transaction, which is then rolled back. What it
did is told by the room that stands on all others; see `planners`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson
from rest_framework.response import Response

from meshmgmt.api.conditions import Answered, Condition, Handler
from meshmgmt.api.requests import ApiRequest
from meshmgmt.core.errors import Conflict
from meshmgmt.core.registry import Registry

PARAMETER: Final = "dry_run"
QUESTION: Final = ("source", "destination", "protocol", "port")
"""Of a dry run: what `/api/access/explain` asks, answered before and after the write."""
HEADER: Final = "X-Plan-Hash"
MEDIA_TYPE: Final = "application/plan+json"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a write does: `shown` to people; `essence`, equal for two that do the same."""

    shown: dict[str, Any]
    essence: Any

    @property
    def digest(self) -> str:
        """What names the plan by what it does, whoever asks for it."""
        return _sum(orjson.dumps(self.essence, option=orjson.OPT_SORT_KEYS))


class Planner(Protocol):
    """Follows one write, and tells what it does."""

    def prepare(self) -> None:
        """Do what needs no lock, before the write."""

    def begin(self) -> None:
        """Look at the account as the write finds it, under the lock."""

    def end(self) -> Plan:
        """Return what was done, in the transaction, when all events are written."""

    def nothing(self) -> Plan:
        """Return the plan of a write that does nothing."""


planners: Final = Registry[str, Callable[[ApiRequest], Planner]]()
"""What plans one write, told its request."""


class PlanChanged(Conflict):
    """The write would do something else than what was planned."""

    def __init__(self, plan: Plan, plan_hash: str) -> None:
        super().__init__(
            f"{HEADER}: this would do something else now; the new plan is in the answer"
        )
        self.details = {"plan": plan.shown, "plan_hash": plan_hash}


class _Planned(Condition):
    """Draws the plan of a write, and knows its hash."""

    def __init__(self, request: ApiRequest) -> None:
        self._planner = planners.only(request)
        query = request.query_params.copy()
        # What is asked beside the write does not belong to it.
        for name in (PARAMETER, *QUESTION):
            query.pop(name, None)
        method = request.method or ""
        # Some clients send a body with it, some do not; it means nothing.
        body = b"" if method == "DELETE" else request.raw_body()
        self._request = [method, request.path, query.urlencode(), _sum(body)]

    def prepare(self) -> None:
        self._planner.prepare()

    def begin(self) -> None:
        self._planner.begin()

    def _hash(self, plan: Plan) -> str:
        return _sum(orjson.dumps([*self._request, plan.digest]))


class DryRun(_Planned):
    """Does the write, tells what it did, and undoes it."""

    def __init__(self, request: ApiRequest) -> None:
        super().__init__(request)
        self._response: Response | None = None

    def written(self, response: Response) -> None:
        """Keep what would be returned."""
        self._response = response

    def end(self) -> None:
        """Tell, which undoes the write."""
        assert self._response is not None
        raise Answered(self._answer(self._response, self._planner.end()))

    def without_write(self, response: Response) -> None:
        """Tell of a write that does nothing."""
        raise Answered(self._answer(response, self._planner.nothing()))

    def _answer(self, response: Response, plan: Plan) -> Response:
        return Response(
            {
                "result": response.data,
                "plan": plan.shown,
                "plan_hash": self._hash(plan),
            },
            content_type=f"{MEDIA_TYPE}; charset=UTF-8",
        )


class PlanGuard(_Planned):
    """Does the write if that is what was planned. Raises PlanChanged."""

    def __init__(self, request: ApiRequest, planned: str) -> None:
        super().__init__(request)
        self._planned = planned
        self._refused = True

    def run(self, handler: Handler) -> Response:
        """Do the write; what refuses it says more than that it is not what was planned."""
        response = super().run(handler)
        self._refused = False
        return response

    def end(self) -> None:
        """Compare, before the commit."""
        self._check(self._planner.end)

    def without_write(self, response: Response) -> None:
        """Compare a write that does nothing."""
        self._check(self._planner.nothing)

    def _check(self, draw: Callable[[], Plan]) -> None:
        if self._refused:
            return
        plan = draw()
        found = self._hash(plan)
        if found != self._planned:
            raise PlanChanged(plan, found)


def _sum(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()
