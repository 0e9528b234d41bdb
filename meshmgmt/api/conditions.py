"""What a request asks for beside its write: done in the transaction of the write itself.

The conditions of one request run in their order around its handler, which does not know
of them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from django.http.response import HttpResponseBase
from rest_framework.response import Response

from meshmgmt.core.transactions import joined_write

Handler = Callable[[], Any]


class Answered(Exception):
    """Ends a write, of which nothing stays, with an answer."""

    def __init__(self, answer: HttpResponseBase) -> None:
        super().__init__()
        self.answer = answer


class Condition:
    """One thing asked for; its steps do nothing unless a subclass says otherwise.

    Every step may raise: a refusal, or `Answered`.
    """

    is_whole = True
    """Whether what is asked for needs the write to be one transaction."""

    def prepare(self) -> None:
        """Come first, without the lock."""

    def begin(self) -> None:
        """Come under the lock, before anything is written."""

    def piece(self) -> None:
        """Come so in each piece of a long write, if it may go in pieces; then `begin`."""

    def run(self, handler: Handler) -> Response:
        """Do the write and return its answer."""
        response: Response = handler()
        return response

    def written(self, response: Response) -> None:
        """Come in the transaction, if there is one, when the handler has answered."""

    def end(self) -> None:
        """Come in the transaction when all events are written; then it commits."""

    def without_write(self, response: Response) -> None:
        """Come when the handler has answered and nothing was written."""


def answered(handler: Handler, conditions: Sequence[Condition]) -> HttpResponseBase:
    """Return what the handler answers under conditions. Raises what refuses it."""
    begin = _in_order([condition.begin for condition in conditions])
    end = _in_order([condition.end for condition in conditions])
    piece = _in_order([condition.piece for condition in conditions])
    whole = any(condition.is_whole for condition in conditions)
    run = handler
    # The first is the outermost: it sees what all others refuse.
    for condition in reversed(conditions):
        run = partial(condition.run, run)
    try:
        for condition in conditions:
            condition.prepare()
        with joined_write(begin, end, None if whole else piece) as write:
            response: Response = run()
            for condition in conditions if write.has_begun else ():
                condition.written(response)
        for condition in () if write.has_begun else conditions:
            condition.without_write(response)
    except Answered as early:
        return early.answer
    return response


def _in_order(steps: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def run() -> None:
        for step in steps:
            step()

    return run
