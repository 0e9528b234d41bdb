"""Whose traffic the account keeps (settings network_traffic_logs_*)."""

import pytest

from groups.selectors import all_group_id
from tests.events.samples import moment, traffic
from tests.factories import account_settings, group, peer
from tests.people import api_as
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

PATH = "/api/events/network-traffic"


def kept(*reporters: str) -> tuple[dict[str, int], list[str]]:
    """Send one event of each reporter; return the answer and whose events are kept."""
    api = api_as("owner")
    answer = ok(api.post(PATH, [traffic(reporter_id=name) for name in reporters]))
    rows = ok(api.get(PATH))["data"]
    return answer, sorted(row["reporter_id"] for row in rows)


def test_without_groups_everything_is_kept():
    answer, reporters = kept("a", "b")
    assert answer == {"accepted": 2, "duplicates": 0}
    assert reporters == ["a", "b"]


def test_with_groups_the_traffic_of_their_peers_is_kept():
    inside, outside = peer("in"), peer("out")
    teams = [group("one", inside).pk, group("two").pk]
    account_settings(network_traffic_logs_groups=teams)
    answer, reporters = kept(inside.pk, outside.pk, "unknown")
    assert answer == {"accepted": 1, "duplicates": 0, "ignored": 2}
    assert reporters == [inside.pk]


def test_group_of_all_peers_keeps_that_of_every_peer():
    one = peer()
    account_settings(network_traffic_logs_groups=[all_group_id()])
    assert kept(one.pk, "unknown")[1] == [one.pk]


def test_switched_off_nothing_is_kept():
    account_settings(network_traffic_logs_enabled=False)
    answer, reporters = kept("a", "b")
    assert answer == {"accepted": 0, "duplicates": 0, "ignored": 2}
    assert reporters == []


def test_faults_are_found_in_ignored_events_too():
    account_settings(network_traffic_logs_enabled=False)
    assert api_as("owner").post(PATH, [traffic(reporter_id="")]).status == 422


def test_a_fault_is_named_by_its_place_among_all_events_that_were_sent():
    inside = peer("in")
    account_settings(network_traffic_logs_groups=[group("one", inside).pk])
    api = api_as("owner")
    ok(api.post(PATH, [traffic(id="x", reporter_id=inside.pk, window_end=moment(9))]))
    batch = [traffic(), traffic(id="x", reporter_id=inside.pk)]
    assert list(api.post(PATH, batch).fields) == ["[1].id"]
