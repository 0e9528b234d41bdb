"""DNS settings over HTTP."""

from typing import Any

import pytest

from meshmgmt.core.context import account_id
from tests.api_client import Api
from tests.factories import Trail, group_id
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db
PATH = "/api/dns/settings"
KEY = "disabled_management_groups"


def test_fresh_account_manages_every_group(api: Api):
    assert ok(api.get(PATH)) == {KEY: []}


def test_list_comes_back_in_the_order_sent(api: Api):
    groups = [group_id(name) for name in "cab"]
    for wanted in (groups, groups[::-1], [groups[1]], []):
        assert ok(api.put(PATH, {KEY: wanted})) == {KEY: wanted}
        assert ok(api.get(PATH)) == {KEY: wanted}


def test_null_is_the_empty_list(api: Api):
    ok(api.put(PATH, {KEY: [group_id("a")]}))
    assert ok(api.put(PATH, {KEY: None})) == {KEY: []}


@pytest.mark.parametrize(
    ("body", "status", "field", "text"),
    [
        ({}, 422, KEY, "required"),
        ({KEY: "x"}, 400, KEY, "JSON array"),
        ({KEY: [1]}, 400, f"{KEY}[0]", ""),
        ({KEY: [""]}, 422, f"{KEY}[0]", "'' was not found"),
        ({KEY: ["0" * 20]}, 422, f"{KEY}[0]", f"'{'0' * 20}' was not found"),
    ],
)
def test_bad_list_is_refused(
    api: Api, body: dict[str, Any], status: int, field: str, text: str
):
    group = group_id("a")
    ok(api.put(PATH, {KEY: [group]}))
    trail = Trail()
    answer = api.put(PATH, body)
    assert answer.status == status
    assert list(answer.fields) == [field]
    assert text in answer.fields[field]
    assert ok(api.get(PATH)) == {KEY: [group]}
    assert trail.codes == []


def test_one_event_for_each_group_that_came_or_went(api: Api):
    a, b, c = (group_id(name) for name in "abc")
    trail = Trail()
    ok(api.put(PATH, {KEY: [a, b]}))
    ok(api.put(PATH, {KEY: [a, b]}))
    ok(api.put(PATH, {KEY: [a, c]}))
    added = "dns.setting.disabled.management.group.add"
    removed = "dns.setting.disabled.management.group.delete"
    assert [(e.activity_code, e.meta) for e in trail.events] == [
        (added, {"group": "a", "group_id": a}),
        (added, {"group": "b", "group_id": b}),
        (removed, {"group": "b", "group_id": b}),
        (added, {"group": "c", "group_id": c}),
    ]
    assert {event.target_id for event in trail.events} == {account_id()}


def test_new_order_alone_is_an_event_of_the_settings(api: Api):
    a, b = (group_id(name) for name in "ab")
    ok(api.put(PATH, {KEY: [a, b]}))
    trail = Trail()
    ok(api.put(PATH, {KEY: [b, a]}))
    ok(api.put(PATH, {KEY: [b, a]}))
    assert trail.targets == [("dns.setting.update", account_id())]
    [event] = trail.events
    assert event.meta == {}
    assert event.changes == {KEY: {"added": [], "removed": [], "order": [b, a]}}
