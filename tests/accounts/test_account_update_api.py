"""Changing the account's settings over HTTP."""

from typing import Any

import pytest

from dns.rules.zones import ZoneDraft
from dns.services.zones import zone_create
from groups.models import Group
from meshmgmt.accounts.selectors import EXTRA_SETTINGS, SETTINGS
from meshmgmt.core.account import account_id
from tests.api_client import Api
from tests.mesh import Trail
from tests.people import api_as
from tests.resource_contract import Body, ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def one() -> str:
    return f"/api/accounts/{account_id()}"


def current(api: Api) -> Body:
    [account] = ok(api.get("/api/accounts"))
    return dict(account)


def test_settings_that_are_given_change_and_others_stay(api: Api, one: str) -> None:
    before = current(api)
    settings: dict[str, Any] = {
        "peer_login_expiration": 7200,
        "regular_users_view_blocked": False,
        "extra": {"user_approval_required": False},
    }
    after = ok(api.put(one, {"settings": settings}))
    expected = before["settings"] | settings
    expected["extra"] = before["settings"]["extra"] | settings["extra"]
    assert after == before | {"settings": expected}
    assert current(api) == after


def test_sending_back_what_was_read_changes_nothing(api: Api, one: str) -> None:
    before = current(api)
    trail = Trail()
    assert ok(api.put(one, before)) == before
    assert ok(api.put(one, {"settings": {}})) == before
    assert trail.codes == []


def test_every_setting_can_be_changed(api: Api, one: str) -> None:
    group_id = Group.objects.create(name="team").pk
    flipped = {
        name: not value
        for name, value in current(api)["settings"].items()
        if isinstance(value, bool) and name in SETTINGS
    }
    settings: dict[str, Any] = {
        **flipped,
        "peer_login_expiration": 7200,
        "peer_inactivity_expiration": 120,
        "jwt_groups_claim_name": "groups",
        "jwt_allow_groups": ["staff"],
        "dns_domain": "corp.internal",
        "network_range": "100.72.0.0/16",
        "network_range_v6": "fd00::/64",
        "peer_expose_groups": [group_id],
        "ipv6_enabled_groups": [group_id],
        "auto_update_version": "latest",
        "extra": {
            "peer_approval_enabled": True,
            "user_approval_required": False,
            "network_traffic_logs_enabled": False,
            "network_traffic_logs_groups": [group_id],
            "network_traffic_packet_counter_enabled": True,
        },
    }
    assert set(settings) - {"extra"} == set(SETTINGS)
    assert set(settings["extra"]) == set(EXTRA_SETTINGS)
    shown = ok(api.put(one, {"settings": settings}))["settings"]
    assert {name: shown[name] for name in settings} == settings


def test_each_change_has_its_code(api: Api, one: str) -> None:
    trail = Trail()
    ok(api.put(one, {"settings": {"dns_domain": "corp.internal"}}))
    ok(api.put(one, {"settings": {"groups_propagation_enabled": False}}))
    ok(api.put(one, {"settings": {"regular_users_view_blocked": False}}))
    assert trail.targets == [
        ("account.dns.domain.update", account_id()),
        ("account.setting.group.propagation.disable", account_id()),
        ("account.setting.update", account_id()),
    ]
    assert trail.events[0].meta == {
        "old_dns_domain": "mesh.internal",
        "new_dns_domain": "corp.internal",
    }


@pytest.mark.parametrize(
    ("settings", "status", "fault"),
    [
        (
            {"peer_login_expiration": 1},
            422,
            ("settings.peer_login_expiration", "one hour"),
        ),
        (
            {"dns_domain": "*.x"},
            422,
            ("settings.dns_domain", "the DNS domain is not valid"),
        ),
        ({"dns_domain": "corp.test"}, 422, ("settings.dns_domain", "zone")),
        (
            {"network_range": "10.0.0.0/30"},
            422,
            ("settings.network_range", "too small"),
        ),
        (
            {"peer_expose_enabled": True},
            422,
            ("settings.peer_expose_groups", "at least one"),
        ),
        ({"ipv6_enabled_groups": ["x"]}, 422, ("settings.ipv6_enabled_groups", "'x'")),
        (
            {"extra": {"network_traffic_logs_groups": ["x"]}},
            422,
            ("settings.extra.network_traffic_logs_groups", "'x'"),
        ),
        (
            {"auto_update_version": "new"},
            422,
            ("settings.auto_update_version", "is no version"),
        ),
        (
            {"peer_login_expiration": "1"},
            400,
            ("settings.peer_login_expiration", "int"),
        ),
        ({"jwt_allow_groups": "x"}, 400, ("settings.jwt_allow_groups", "JSON array")),
        (
            {"extra": {"peer_approval_enabled": 1}},
            400,
            ("settings.extra.peer_approval_enabled", "JSON boolean"),
        ),
        ({"extra": []}, 400, ("settings.extra", "JSON object")),
    ],
)
def test_broken_rule_is_refused(
    api: Api, one: str, settings: Body, status: int, fault: tuple[str, str]
) -> None:
    field, message = fault
    zone_create(
        draft=ZoneDraft(name="z", domain="corp.test", distribution_groups=[]),
        enabled=True,
        enable_search_domain=False,
    )
    before = current(api)
    trail = Trail()
    answer = api.put(one, {"settings": settings})
    assert answer.status == status
    assert list(answer.fields) == [field]
    assert message in answer.json["message"]
    assert current(api) == before
    assert trail.codes == []


def test_settings_are_required(api: Api, one: str) -> None:
    answer = api.put(one, {})
    assert answer.status == 422
    assert list(answer.fields) == ["settings"]


@pytest.mark.parametrize("bad", ["0" * 20, "x", "%00"])
def test_another_account_is_not_found(api: Api, bad: str) -> None:
    answer = api.put(f"/api/accounts/{bad}", {"settings": {}})
    assert answer.status == 404
    assert "not found" in answer.json["message"]


@pytest.mark.parametrize("role", ["network_admin", "auditor", "user"])
def test_roles(one: str, role: str) -> None:
    assert api_as(role).put(one, b"no json").status == 403
    assert api_as("admin").put(one, b"no json").status == 400


def test_the_account_is_not_deleted_over_http(api: Api, one: str) -> None:
    assert api.delete(one).status == 405
