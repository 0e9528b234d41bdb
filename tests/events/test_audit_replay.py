"""The trail alone gives the state back: values, members and the order of members."""

from contextlib import suppress
from typing import Any, Final

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dns.models import (
    DisabledManagementGroup,
    DnsSettings,
    NameserverGroup,
    NameserverGroupGroup,
)
from groups.models import Group, GroupPeer, GroupResource
from meshmgmt.access.models import UserAutoGroup
from meshmgmt.core.orderedlinks import (
    OrderedLink,
    append_members,
    drop_members,
    remove_from_lists,
    set_members,
)
from meshmgmt.core.transactions import account_write
from tests import factories, people
from tests.demo import replay

pytestmark = pytest.mark.django_db

SIZE: Final = 5
List = tuple[type[OrderedLink], Any, list[Any]]
"""The kind of a list, its owner, and what may be in it."""

members = st.lists(st.integers(0, SIZE - 1), unique=True)
steps = st.tuples(
    st.sampled_from(["set", "set", "append", "drop", "remove", "rename", "undone"]),
    st.integers(0, 5),
    members,
)
writes = st.lists(st.lists(steps, min_size=1, max_size=5), min_size=1, max_size=4)


class Undone(Exception):
    """Rolls a part of a write back."""


def make_lists() -> list[List]:
    """Return a list of every kind: events per member, events of owners, two columns."""
    peers = [one.pk for one in factories.peers(SIZE)]
    groups = [factories.group(f"g{number}").pk for number in range(SIZE)]
    hosts = [(f"host{number}", "host") for number in range(SIZE)]
    settings_row, _ = DnsSettings.objects.get_or_create()
    servers = NameserverGroup.objects.create(
        name="servers", primary=True, nameservers=[], domains=[]
    )
    return [
        (GroupPeer, factories.group("with peers"), peers),
        (GroupResource, factories.group("with resources"), hosts),
        (GroupPeer, factories.group("with others"), peers),
        (NameserverGroupGroup, servers, groups),
        (UserAutoGroup, people.person("user"), groups),
        (DisabledManagementGroup, settings_row, groups),
    ]


def do(deed: str, one: List, places: list[int]) -> None:
    """Do one step of a write."""
    link, owner, known = one
    chosen = [known[place] for place in places]
    if deed == "set":
        set_members(link, owner, chosen)
    elif deed == "append" and len(link.member_fields) == 1:
        append_members(link, owner, chosen)
    elif deed == "remove" and len(link.member_fields) == 1:
        remove_from_lists(link, **{f"{link.member_fields[0]}__in": chosen})
    elif deed == "drop" and len(link.member_fields) == 1:
        drop_members(link, owner, chosen)
    elif deed == "rename" and isinstance(owner, Group):
        owner.name = f"{owner.pk} {places}"
        owner.save()
    elif deed == "undone":
        with suppress(Undone), account_write():
            set_members(link, owner, chosen)
            raise Undone


@pytest.mark.parametrize("examples", [25, pytest.param(80, marks=pytest.mark.slow)])
def test_replay_gives_values_members_and_their_order(examples: int):
    lists = make_lists()

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(writes)
    @example([[("set", 0, [0, 1])], [("remove", 0, [0]), ("append", 0, [0])]])
    @example([[("set", 0, [0, 1])], [("drop", 0, [0, 2]), ("append", 0, [0])]])
    @example([[("set", 0, [0, 1])], [("set", 0, [1, 0]), ("append", 0, [2])]])
    def replayed(history: list[list[tuple[str, int, list[int]]]]) -> None:
        with transaction.atomic():
            for write in history:
                with account_write():
                    for deed, number, places in write:
                        do(deed, lists[number], places)
                told, stored = replay.replayed(), replay.stored()
                assert told.members == stored.members
                assert told.values == stored.values
            transaction.set_rollback(True)

    replayed()


def test_a_new_member_before_one_that_stays_leaves_the_new_order():
    one, two, three = (peer.pk for peer in factories.peers(3))
    group = factories.group("g")
    set_members(GroupPeer, group, [one, two])
    trail = factories.Trail()
    set_members(GroupPeer, group, [three, one, two])
    assert trail.codes == ["group.order.update", "peer.group.add"]
    assert trail.events[0].changes == {
        "peers": {"added": [three], "removed": [], "order": [three, one, two]}
    }
