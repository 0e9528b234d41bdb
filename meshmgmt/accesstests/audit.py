"""Which activities changes of access tests emit."""

from events.audit import specs
from events.audit.specs import written
from meshmgmt.accesstests.models import STATE, AccessTest


def register() -> None:
    """Register the spec of this app; how a test goes is told by events of their own."""
    specs.register(
        written(
            AccessTest,
            "access_test",
            unaudited=frozenset(STATE),
            meta=lambda test: {"name": test.name},
        )
    )
