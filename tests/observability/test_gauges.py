"""Gauges of the inventory: right numbers, few series, and silence without a database."""

import datetime as dt
import itertools
import threading
import time
from collections.abc import Callable

import pytest
from django.db import DatabaseError, connections

from meshmgmt.core import clock
from observability import registries
from observability.health import readiness
from observability.metrics import scrape
from observability.registries import InventoryRows
from tests.api_client import Api
from tests.dns import bodies
from tests.people import api_of, person, token_of
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


def counts() -> dict[str, dict[tuple[str, ...], float]]:
    """Return name -> label values -> number."""
    return {
        family.name: {
            tuple(value for _, value in sample.labels): sample.value
            for sample in family.samples
        }
        for family in scrape.measure()
    }


def measured(
    monkeypatch: pytest.MonkeyPatch, name: str, measure: Callable[[], InventoryRows]
) -> None:
    """Let a gauge be measured beside those of the rooms."""
    entry = registries.Inventory(name, "x", (), measure)
    monkeypatch.setitem(registries.INVENTORY, name, entry)


def test_all_migrations_are_applied_here():
    found = counts()
    assert found["mesh_inventory_up"] == {(): 1}
    assert found["django_migrations_unapplied_total"] == {("default",): 0}


def test_groups_zones_and_records_are_counted(api: Api):
    before = counts()
    api.post("/api/groups", {"name": "one"})
    zone = ok(api.post("/api/dns/zones", bodies.zone()))
    ok(api.post(f"/api/dns/zones/{zone['id']}/records", bodies.record()))
    after = counts()
    assert after["mesh_groups"]["api",] == before["mesh_groups"]["api",] + 1
    assert after["mesh_groups"]["jwt",] == 0
    assert after["mesh_dns_zones"] == {("enabled",): 1, ("disabled",): 0}
    assert after["mesh_dns_records"] == {("A",): 1, ("AAAA",): 0, ("CNAME",): 0}
    states = {"approval_required", "login_expired", "connected", "disconnected"}
    assert set(after["mesh_peers"]) == {(state,) for state in states}


def test_tokens_about_to_expire_are_counted_apart():
    user = person("owner")
    token_of(user, days=3)
    token_of(user, days=30)
    with clock.set_to(clock.now() - dt.timedelta(days=9)):
        token_of(user, days=1)
    states = ("valid", "expiring", "expired")
    assert counts()["mesh_tokens"] == {(state,): 1 for state in states}


def test_the_number_of_series_does_not_follow_the_number_of_objects():
    def series() -> int:
        return sum(len(values) for values in counts().values())

    before = series()
    api = api_of(person("owner"))
    for number in range(20):
        api.post("/api/groups", {"name": f"group {number}"})
        person("auditor")
    assert series() == before


def test_without_the_database_no_number_is_given(monkeypatch: pytest.MonkeyPatch):
    def away() -> InventoryRows:
        raise DatabaseError("the connection is closed")

    measured(monkeypatch, "mesh_broken", away)
    up, migrations = scrape.measure()
    assert up == scrape._up(0)
    assert migrations.name == "django_migrations_unapplied_total"


def test_a_mistake_in_one_gauge_does_not_end_the_scrape(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def broken() -> InventoryRows:
        raise ZeroDivisionError

    measured(monkeypatch, "mesh_broken", broken)
    assert scrape.measure()[0].samples[0].value == 0
    assert "inventory gauges are missing" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_measurement_that_ended_long_ago_is_no_new_one(
    monkeypatch: pytest.MonkeyPatch,
):
    ready, numbers = threading.Event(), itertools.count(1)

    def slow() -> InventoryRows:
        ready.wait(60)
        return {(): next(numbers)}

    measured(monkeypatch, "mesh_slow", slow)
    sampler, elapsed = scrape.Sampler(), 0.0
    monotonic = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + elapsed)
    assert sampler.families() == [scrape._up(0)]
    ready.set()
    assert sampler._pending is not None
    sampler._pending.result(60)
    assert shown(sampler) == 1  # just now
    elapsed += scrape.FRESH_SECONDS
    ready.clear()
    assert shown(sampler) == 1  # the next one takes its time
    ready.set()
    sampler._pending.result(60)
    elapsed += scrape.LATE_SECONDS
    assert shown(sampler) == 3  # the one that took its time is old by now
    sampler._pool.submit(connections.close_all).result(60)


def shown(sampler: scrape.Sampler) -> float:
    [slow] = [each for each in sampler.families() if each.name == "mesh_slow"]
    return slow.samples[0].value


def test_names_are_registered_once():
    with pytest.raises(ValueError, match="mesh_peers is registered already"):
        registries.register_inventory("mesh_peers", "x", (), dict)


@pytest.mark.parametrize("required", [True, False])
def test_a_registered_check_makes_the_server_unready_where_that_is_required(
    monkeypatch: pytest.MonkeyPatch, required: bool
):
    check = registries.ReadinessCheck(lambda: "none is open", required)
    monkeypatch.setitem(registries.READINESS_CHECKS, "doors", check)
    [finding] = [f for f in readiness.findings() if f.name == "doors"]
    assert (finding.problem, finding.required) == ("none is open", required)
    assert readiness.is_ready([finding]) is not required
