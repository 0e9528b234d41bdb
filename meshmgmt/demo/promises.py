"""Access tests of the demo: what the company wants of its own rules."""

from functools import partial
from typing import Final, NamedTuple

from meshmgmt.accesstests.rules import AccessTestDraft, End
from meshmgmt.accesstests.services import access_test_create
from meshmgmt.demo.story import Story


class PromiseRow(NamedTuple):
    """A test between groups; of a name that is resolved, `port` is 0."""

    name: str
    source: str
    destination: str
    port: int
    expect: str
    enforce: bool = False


TESTS: Final = (
    PromiseRow(
        "Contractors stay off databases",
        "Contractors",
        "Databases",
        5432,
        "never",
        True,
    ),
    PromiseRow(
        "Applications have databases", "Application servers", "Databases", 5432, "reach"
    ),
    PromiseRow("Offices stay apart", "Office Gothenburg", "Office Porto", 22, "never"),
    PromiseRow(
        "Contractors read the wiki", "Contractors", "Application servers", 443, "reach"
    ),
    PromiseRow("Engineers find the wiki", "Engineering", "wiki", 0, "reach"),
)


def plan_promises(story: Story) -> None:
    """Last of all: what was before is as it is."""
    for number, row in enumerate(TESTS):
        deed = partial(_test, story, row)
        story.plan(6, 23 * 60 + 30 + number, "yuki", deed)


def _test(story: Story, row: PromiseRow) -> None:
    [source] = story.group_ids([row.source])
    end, is_name = End("domain", row.destination), not row.port
    if not is_name:
        [target] = story.group_ids([row.destination])
        end = End("group", target)
    draft = AccessTestDraft(
        row.name,
        End("group", source),
        end,
        row.expect,
        enforce=row.enforce,
        kind="dns" if is_name else "access",
        protocol="all" if is_name else "tcp",
        port=row.port or None,
    )
    access_test_create(draft=draft)
