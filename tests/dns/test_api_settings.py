"""DNS settings over HTTP."""

from typing import Any

import pytest

from meshmgmt.core.account import account_id
from tests.api_client import Api
from tests.dns.bodies import created, trail
from tests.factories import group_id

pytestmark = pytest.mark.django_db
PATH = "/api/dns/settings"
KEY = "disabled_management_groups"


def test_fresh_account_manages_every_group(owner: Api) -> None:
    assert created(owner.get(PATH)) == {KEY: []}


def test_list_comes_back_in_the_order_sent(owner: Api) -> None:
    groups = [group_id(name) for name in "cab"]
    for wanted in (groups, groups[::-1], [groups[1]], []):
        assert created(owner.put(PATH, {KEY: wanted})) == {KEY: wanted}
        assert created(owner.get(PATH)) == {KEY: wanted}


def test_null_is_the_empty_list(owner: Api) -> None:
    created(owner.put(PATH, {KEY: [group_id("a")]}))
    assert created(owner.put(PATH, {KEY: None})) == {KEY: []}


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 422, KEY),
        ({KEY: "x"}, 400, KEY),
        ({KEY: [1]}, 400, f"{KEY}[0]"),
        ({KEY: [""]}, 422, f"{KEY}[0]"),
        ({KEY: ["0" * 20]}, 422, f"{KEY}[0]"),
    ],
)
def test_bad_list_is_refused(
    owner: Api, body: dict[str, Any], status: int, field: str
) -> None:
    group = group_id("a")
    created(owner.put(PATH, {KEY: [group]}))
    answer = owner.put(PATH, body)
    assert answer.status == status
    assert list(answer.fields) == [field]
    assert created(owner.get(PATH)) == {KEY: [group]}
    assert len(trail(owner, "dns.setting")) == 1


def test_one_event_for_each_group_that_came_or_went(owner: Api) -> None:
    a, b, c = (group_id(name) for name in "abc")
    created(owner.put(PATH, {KEY: [a, b]}))
    created(owner.put(PATH, {KEY: [a, b]}))
    created(owner.put(PATH, {KEY: [a, c]}))
    events = trail(owner, "dns.setting")
    added = "dns.setting.disabled.management.group.add"
    removed = "dns.setting.disabled.management.group.delete"
    assert [(e["activity_code"], e["meta"]) for e in events] == [
        (added, {"group": "a", "group_id": a}),
        (added, {"group": "b", "group_id": b}),
        (removed, {"group": "b", "group_id": b}),
        (added, {"group": "c", "group_id": c}),
    ]
    assert {event["target_id"] for event in events} == {account_id()}


def test_new_order_alone_is_an_event_of_the_settings(owner: Api) -> None:
    a, b = (group_id(name) for name in "ab")
    created(owner.put(PATH, {KEY: [a, b]}))
    created(owner.put(PATH, {KEY: [b, a]}))
    created(owner.put(PATH, {KEY: [b, a]}))
    events = trail(owner, "dns.setting.update")
    assert [(event["target_id"], event["meta"]) for event in events] == [
        (account_id(), {})
    ]
    found = created(owner.get(f"/api/events/audit/{events[0]['id']}"))
    assert found["changes"] == {KEY: {"added": [], "removed": [], "order": [b, a]}}


def test_other_methods_are_not_allowed(owner: Api) -> None:
    assert owner.post(PATH).status == 405
    assert owner.delete(PATH).status == 405
