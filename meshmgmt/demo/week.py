"""The everyday changes of the demo company's week, which chance decides."""

from functools import partial
from typing import Final

from meshmgmt.demo import company, naming, people
from meshmgmt.demo.story import DAYS, Story

FIRST: Final = 2
NETWORK_ADMINS: Final = ("ines", "olof")
LAPTOPS: Final = ("saga-laptop", "rui-laptop", "olof-laptop")
TTLS: Final = (30, 60, 120, 300, 600, 1800, 3600)
ZONES: Final = ("Applications", "Databases", "Robot lab", "Office services")


def plan_week(story: Story) -> None:
    """Plan changes that leave everything as it is in kind and count."""
    for number, row in enumerate(company.rows_of("person")):
        for day in (1 + number % 3, 4 + number % 3):
            sign_in = partial(people.sign_in, story, row["key"])
            story.plan(day, story.some_minute(), row["key"], sign_in)
    for day in range(FIRST, DAYS):
        for _ in range(story.random.randrange(5, 9)):
            _plan_record_change(story, day)
        for _ in range(story.random.randrange(2, 5)):
            _plan_field_work(story, day)


def _plan_record_change(story: Story, day: int) -> None:
    zone, ttl = story.random.choice(ZONES), story.random.choice(TTLS)
    change = partial(naming.ttl_changed, story, zone, story.random.random(), ttl)
    story.plan(day, story.some_minute(), story.random.choice(NETWORK_ADMINS), change)


def _plan_field_work(story: Story, day: int) -> None:
    """An engineer's laptop joins the field service for some hours."""
    place = ("Field service", story.random.choice(LAPTOPS))
    start = story.random.uniform(7 * 60, 11 * 60)
    back = story.random.uniform(13 * 60, 18 * 60)
    story.plan(day, start, "tomas", partial(people.joined, story, *place))
    story.plan(day, back, "tomas", partial(people.left, story, *place))
