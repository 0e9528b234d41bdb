"""What the demo data is made of, in order; a room that has more to show adds its part.

A part of the demo profile takes the `Story` and plans deeds for moments of the week. A
part of the large profile takes the `LargeMesh` and writes; it is run as one write.
"""

from collections.abc import Callable
from typing import Final

from meshmgmt.demo import large, naming, people, permits, week
from meshmgmt.demo.story import Story

DEMO_PARTS: Final[tuple[Callable[[Story], None], ...]] = (
    people.plan_users,
    people.plan_groups,
    permits.plan_permits,
    people.plan_peers,
    naming.plan_dns,
    week.plan_week,
)

LARGE_PARTS: Final[tuple[large.Step, ...]] = large.STEPS
