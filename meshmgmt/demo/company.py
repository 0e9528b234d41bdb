"""The company of the demo data, from `company.toml`: who does what in its week."""

import datetime as dt
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from meshmgmt.demo import naming, people, permits
from meshmgmt.demo.story import Story

MARK: Final = people.MARK
_FILE: Final = Path(__file__).with_suffix(".toml")
_OF_STEPS: Final = {"day", "start", "by"}
_DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    deed.__name__: deed for deed in (*people.DEEDS, *permits.DEEDS, *naming.DEEDS)
}


@cache
def steps() -> list[dict[str, Any]]:
    """Return what the file holds."""
    found: list[dict[str, Any]] = tomllib.loads(_FILE.read_text("utf-8"))["step"]
    return found


def rows_of(deed: str) -> list[dict[str, Any]]:
    """Return the rows of all steps with a deed."""
    return [row for step in steps() if step["deed"] == deed for row in step["rows"]]


def plan_company(story: Story) -> None:
    """Plan all rows of the file."""
    for step in steps():
        for number, row in enumerate(step["rows"]):
            _plan(story, step, number, row)


def _plan(story: Story, step: Mapping[str, Any], number: int, row: Any) -> None:
    people_of_step = step.get("by") or [row.get("person", "")]
    who = row.get("by", people_of_step[number % len(people_of_step)])
    start = dt.time.fromisoformat(row.get("start", step["start"]))
    minute = 60 * start.hour + start.minute
    if "start" not in row:
        minute += number * step.get("every", 0)
    facts = {**step.get("same", {}), **row}
    told = {name: value for name, value in facts.items() if name not in _OF_STEPS}
    deed = partial(_DEEDS[step["deed"]], story, **told)
    story.plan(row.get("day", step["day"]), minute, who, deed)
