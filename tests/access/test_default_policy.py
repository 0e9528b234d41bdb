"""What a new account lets peers do (`SVC_DEFAULT_POLICY`)."""

import dataclasses
from typing import Any

import pytest
from django.core.management import call_command

from groups.selectors import all_group_id
from meshmgmt.access.models import Policy
from tests.api_client import Api
from tests.demo.test_seed import seed
from tests.factories import Trail, numbered
from tests.people import api_as
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def set_up(settings: Any, choice: str) -> None:
    """Set the database up as `migrate` does."""
    settings.SVC = dataclasses.replace(settings.SVC, default_policy=choice)
    call_command("migrate", verbosity=0)


def reachable(api: Api) -> list[str]:
    one, other = numbered(1), numbered(2)
    rows = ok(api.get(f"/api/peers/{one.pk}/accessible-peers"))
    assert {row["id"] for row in rows} <= {other.pk}
    return [row["name"] for row in rows]


def test_new_account_lets_nobody_reach_anybody(settings: Any):
    set_up(settings, "none")
    api = api_as("owner")
    assert ok(api.get("/api/policies")) == []
    assert reachable(api) == []


def test_new_account_starts_with_a_policy_that_allows_all_when_told_so(settings: Any):
    trail = Trail()
    set_up(settings, "all")
    set_up(settings, "all")
    assert trail.codes == ["policy.add", "rule.add"]
    assert {event.initiator_id for event in trail.events} == {"system"}
    api = api_as("owner")
    [shown] = ok(api.get("/api/policies"))
    [rule] = shown["rules"]
    assert (shown["name"], shown["enabled"], rule["enabled"]) == ("Default", True, True)
    for side in ("sources", "destinations"):
        assert [group["id"] for group in rule[side]] == [all_group_id()]
    everything = {"action": "accept", "protocol": "all", "bidirectional": True}
    assert rule | everything == rule
    assert reachable(api) == ["peer no. 2"]


def test_policy_deleted_by_its_owner_does_not_come_back(settings: Any):
    set_up(settings, "all")
    api = api_as("owner")
    [shown] = ok(api.get("/api/policies"))
    ok(api.delete(f"/api/policies/{shown['id']}"))
    set_up(settings, "all")
    assert not Policy.objects.exists()


def test_demo_data_does_not_mind_the_policy(settings: Any):
    set_up(settings, "all")
    assert seed()["seeded"]
