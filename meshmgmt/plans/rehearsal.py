"""Doing something for its plan: it is kept only if its plan may be."""

from collections.abc import Callable
from contextlib import suppress

from meshmgmt.api.plans import Plan
from meshmgmt.core import context
from meshmgmt.core.ids import new_id
from meshmgmt.core.transactions import account_write, joined_write
from meshmgmt.plans.planner import WritePlanner


class _Undone(Exception):
    """Takes back what was only tried."""


def carried_out(do: Callable[[], object], may_stay: Callable[[Plan], bool]) -> Plan:
    """Do it in one transaction, under one correlation id; return what it did.

    Nothing of it stays unless `may_stay`, which is asked before the commit and may raise
    to refuse it. Raises what `do` raises.
    """
    planner = WritePlanner()
    planner.prepare()  # before the lock: a large account takes long to read
    plans: list[Plan] = []

    def end() -> None:
        plans.append(planner.end())
        if not may_stay(plans[0]):
            raise _Undone

    with (
        suppress(_Undone),
        # One id for all its events, so that it can be taken back as one.
        context.scope(request_id=context.current().request_id or new_id()),
        joined_write(planner.begin, end),
        account_write(),
    ):
        do()
    return plans[0]
