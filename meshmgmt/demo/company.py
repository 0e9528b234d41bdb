"""The company of the demo data: who does what in its week, by `company.toml` and chance."""

import datetime as dt
import tomllib
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from meshmgmt.demo import byname, people
from meshmgmt.demo.story import DAYS, Story

MARK: Final = people.MARK
_FILE: Final = Path(__file__).with_suffix(".toml")
_OF_STEPS: Final = {"day", "start", "by"}
_DEEDS: Final[Mapping[str, Callable[..., None]]] = {
    **byname.DEEDS,
    **{deed.__name__: deed for deed in people.DEEDS},
}

FIRST_CHANGES: Final = 2
NETWORK_ADMINS: Final = ("ines", "olof")
LAPTOPS: Final = ("saga-laptop", "rui-laptop", "olof-laptop")
TTLS: Final = (30, 60, 120, 300, 600, 1800, 3600)
ZONES: Final = ("Applications", "Databases", "Robot lab", "Office services")


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


def plan_week(story: Story) -> None:
    """Plan everyday changes, which leave everything as it is in kind and count."""
    for number, row in enumerate(rows_of("person")):
        for day in (1 + number % 3, 4 + number % 3):
            sign_in = partial(people.sign_in, story, row["key"])
            story.plan(day, story.some_minute(), row["key"], sign_in)
    for day in range(FIRST_CHANGES, DAYS):
        for _ in range(story.random.randrange(5, 9)):
            _plan_record_change(story, day)
        for _ in range(story.random.randrange(2, 5)):
            _plan_field_work(story, day)


def _plan_record_change(story: Story, day: int) -> None:
    zone, ttl = story.random.choice(ZONES), story.random.choice(TTLS)
    change = partial(byname.ttl_changed, story, zone, story.random.random(), ttl)
    story.plan(day, story.some_minute(), story.random.choice(NETWORK_ADMINS), change)


def _plan_field_work(story: Story, day: int) -> None:
    """An engineer's laptop joins the field service for some hours."""
    place = ("Field service", story.random.choice(LAPTOPS))
    start = story.random.uniform(7 * 60, 11 * 60)
    back = story.random.uniform(13 * 60, 18 * 60)
    story.plan(day, start, "tomas", partial(people.joined, story, *place))
    story.plan(day, back, "tomas", partial(people.left, story, *place))
