"""Which activities changes of access tests emit."""

from events.audit import specs
from events.audit.specs import written
from meshmgmt.accesstests.models import AccessTest

_STATE = frozenset({"state", "failures", "checked_at"})


def register() -> None:
    """Register the spec of this app; how a test goes is told by events of their own."""
    specs.register(
        written(
            AccessTest,
            "access_test",
            unaudited=_STATE,
            meta=lambda test: {"name": test.name},
        )
    )
