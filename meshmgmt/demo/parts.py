"""What the demo data is made of, in order; a room that has more to show adds its part.

A part of the demo profile takes the `Story` and plans deeds for moments of the week. A
part of the large profile takes the `LargeMesh` and writes; it is run as one write.
"""

from collections.abc import Callable
from typing import Final

from meshmgmt.demo import company, large, promises, week
from meshmgmt.demo.story import Story

DEMO_PARTS: Final[tuple[Callable[[Story], None], ...]] = (
    company.plan_company,
    week.plan_week,
    promises.plan_promises,
)

LARGE_PARTS: Final[tuple[large.Step, ...]] = large.STEPS
