"""What a write of many memberships asks of the database, and what it says of them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from events.models import AuditEvent
from groups.models import GroupPeer
from groups.selectors import members_among
from groups.services import change_groups_of_peers, group_create, group_update
from meshmgmt.core.orderedlinks import drop_members
from meshmgmt.core.queries import BATCH, MOST_PARAMETERS
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.factories import Trail, account_settings, group, members_of, peers

pytestmark = pytest.mark.django_db

MANY = BATCH + 100
EVENT_COLUMNS = len(AuditEvent._meta.concrete_fields) - 1
LINK_COLUMNS = 3


def parts(rows: int, at_once: int) -> int:
    """Return how many statements take so many rows."""
    return -(-rows // at_once)


def test_a_large_group_is_written_in_few_statements():
    ids = [one.pk for one in peers(MANY)]

    with CaptureQueriesContext(connection) as captured:
        group_create(name="large", peers=ids)

    inserts = [x["sql"] for x in captured if x["sql"].startswith("INSERT")]
    needed = parts(MANY, MOST_PARAMETERS // LINK_COLUMNS)
    needed += parts(MANY + 1, MOST_PARAMETERS // EVENT_COLUMNS)
    assert len(inserts) <= needed + 2  # the group, and the serial of the maps
    others = len(captured) - len(inserts)
    assert others <= 2 * parts(MANY, BATCH) + 13  # two ask for access tests


def test_a_change_of_a_few_reads_and_writes_a_few():
    made = peers(MANY)
    team = group("team", *made[:-2])

    with CaptureQueriesContext(connection) as captured:
        change_groups_of_peers([one.pk for one in made[-3:]], join=[team.pk])
        change_groups_of_peers([one.pk for one in made[:3]], leave=[team.pk])

    assert len(captured) < 30
    assert members_of(team) == [one.pk for one in made[3:]]


def test_a_list_sent_whole_asks_only_for_who_is_new_in_it():
    ids = [one.pk for one in peers(MANY)]
    team = group("team")
    group_update(group_id=team.pk, name="team", peers=ids[:-1], resources=[])

    with CaptureQueriesContext(connection) as captured:
        group_update(group_id=team.pk, name="team", peers=ids, resources=[])

    assert members_of(team) == ids
    asked = " ".join(each["sql"] for each in captured)
    assert ids[-1] in asked
    assert ids[0] not in asked


def test_members_are_looked_up_among_the_peers_in_question_alone():
    one, two, other = peers(3)
    team = group("team", one, other)

    with CaptureQueriesContext(connection) as captured:
        assert members_among([team.pk], [one.pk, two.pk]) == {one.pk}

    asked = captured[-1]["sql"]
    assert all(each.pk in asked for each in (team, one, two))


def test_events_tell_addresses_and_names_as_they_are_when_the_write_ends():
    account_settings(dns_domain="mesh.test")
    one, two = peers(2)
    team = group("team", one, two)
    trail = Trail()

    with account_write():
        one.ip = "100.99.0.1"
        one.save()
        two.delete()
        group_update(group_id=team.pk, name="team", peers=[], resources=[])

    told = {
        event.target_id: event.meta
        for event in trail.events
        if event.activity_code == "peer.group.delete"
    }
    assert told[one.pk]["peer_ip"] == "100.99.0.1"
    gone = [meta for pk, meta in told.items() if pk != one.pk]
    assert [meta["peer_ip"] for meta in gone] == [two.ip]
    assert [meta["peer_fqdn"] for meta in gone] == [f"{two.dns_label}.mesh.test"]
    assert not Peer.objects.filter(ip=two.ip).exists()


def test_dropping_who_is_not_listed_writes_nothing():
    one, two = peers(2)
    team = group("team", one)
    trail = Trail()

    assert drop_members(GroupPeer, team, [two.pk, two.pk]) == 0
    assert drop_members(GroupPeer, team, [two.pk, one.pk, one.pk]) == 1

    assert trail.targets == [("peer.group.delete", one.pk)]
