"""Findings are kept until something changes, and say how old they are."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from meshmgmt.explain import findings as kept
from meshmgmt.explain.findings import findings
from tests.admin.signed_in import client_of
from tests.api_client import Api
from tests.dns.bodies import zone
from tests.people import person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

ZONES = "/api/dns/zones"
PAGE = "/admin/dns/zone/lint/"


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_kept", [])


def test_are_computed_once_as_long_as_nothing_changes(api: Api):
    ok(api.post(ZONES, zone()))
    first = findings()
    with CaptureQueriesContext(connection) as asked:
        assert findings() is first
        assert findings().count == (1, 0)
    assert len(asked) == 2


def test_every_change_of_the_account_makes_them_old(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept, "LAG", 0)
    assert findings().count == (0, 0)
    made = ok(api.post(ZONES, zone()))
    assert findings().count == (1, 0)
    ok(api.put(f"{ZONES}/{made['id']}", zone(enabled=False)))
    assert findings().count == (0, 0)


def test_that_cost_much_lag_behind_for_a_while(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept, "LAG", 1e9)
    monkeypatch.setattr(kept, "CHEAP", 0)
    first = findings()
    ok(api.post(ZONES, zone()))
    assert findings() is first
    assert len(findings(anew=True).findings) == 1
    assert findings().count == (1, 0)


def test_do_not_grow_old_without_changes(api: Api, monkeypatch: pytest.MonkeyPatch):
    first = findings()
    monkeypatch.setattr(kept, "MOST_SECONDS", 0)
    assert findings() is not first


def test_the_page_says_how_old_they_are_and_computes_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(kept, "LAG", 1e9)
    monkeypatch.setattr(kept, "CHEAP", 0)
    browser = client_of(person("auditor"))
    page = browser.get(PAGE).content.decode()
    assert "0 warnings" in page
    assert "Computed 0 s ago" in page
    ok(api.post(ZONES, zone()))
    assert "something changed since" not in page
    late = browser.get(PAGE).content.decode()
    assert "0 warnings" in late
    assert "something changed since" in late
    assert 'name="anew"' in page
    assert "1 warning," in browser.get(f"{PAGE}?anew=1").content.decode()
