"""The account and its settings over HTTP."""

from ipaddress import ip_network
from typing import Any

import pytest

from dns.services.zones import zones
from groups.models import Group
from meshmgmt.accounts.selectors import EXTRA_SETTINGS, SETTINGS
from meshmgmt.core.context import account_id
from meshmgmt.meshstate.loading import load
from tests.api_client import Api
from tests.factories import Trail, account_settings, peer
from tests.resource_contract import Body, ok, refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def one() -> str:
    return f"/api/accounts/{account_id()}"


def current(api: Api) -> Body:
    [account] = ok(api.get("/api/accounts"))
    return dict(account)


def test_the_account_is_a_list_of_one(api: Api, one: str, settings: Any):
    shown = current(api)
    assert (shown["id"], shown["created_by"]) == (account_id(), "system")
    told = shown["settings"]
    assert told["dns_domain"] == settings.SVC.dns_domain
    assert (told["peer_login_expiration"], told["jwt_allow_groups"]) == (86400, [])
    assert told["extra"]["user_approval_required"] is True
    assert ok(api.get(one)) == shown


def test_settings_that_are_given_change_and_others_stay(api: Api, one: str):
    before = current(api)
    settings: dict[str, Any] = {
        "peer_login_expiration": 7200,
        "regular_users_view_blocked": False,
        "auto_update_version": "latest",
        "extra": {"user_approval_required": False},
    }
    after = ok(api.put(one, {"settings": settings}))
    expected = before["settings"] | settings
    expected["extra"] = before["settings"]["extra"] | settings["extra"]
    assert after == before | {"settings": expected}
    assert current(api) == after


def test_sending_back_what_was_read_changes_nothing(api: Api, one: str):
    before = current(api)
    trail = Trail()
    assert ok(api.put(one, before)) == before
    kept = {"auto_update_version": before["settings"]["auto_update_version"]}
    assert ok(api.put(one, {"settings": kept})) == before
    assert trail.codes == []


def test_a_version_to_update_to_that_is_left_out_is_none(api: Api, one: str):
    ok(api.put(one, {"settings": {"auto_update_version": "1.2.3"}}))
    before = current(api)["settings"]
    trail = Trail()
    shown = ok(api.put(one, {"settings": {"lazy_connection_enabled": True}}))
    assert shown["settings"] == before | {"auto_update_version": ""}
    assert trail.codes == ["account.settings.auto.version.update"]


def test_an_empty_dns_domain_is_answered_and_means_the_default(
    api: Api, one: str, settings: Any
):
    mine = peer("mine")
    ok(api.put(one, {"settings": {"dns_domain": "corp.test"}}))
    ok(api.put(one, {"settings": {"dns_domain": ""}}))
    assert current(api)["settings"]["dns_domain"] == ""
    default = settings.SVC.dns_domain
    shown = ok(api.get(f"/api/peers/{mine.pk}"))
    assert shown["dns_label"] == f"{mine.dns_label}.{default}"
    assert load().settings.dns_domain == default
    zone = {"name": "z", "domain": default, "distribution_groups": []}
    refusal(api.post("/api/dns/zones", zone | {"enable_search_domain": False}), 422)
    account_settings(default_dns_domain="other.test")
    assert ok(api.get(f"/api/peers/{mine.pk}"))["dns_label"].endswith(".other.test")


def test_the_default_dns_domain_is_not_that_of_a_zone(
    api: Api, one: str, settings: Any
):
    ok(api.put(one, {"settings": {"dns_domain": "corp.test"}}))
    zones.create({"name": "z", "domain": settings.SVC.dns_domain})
    refused = api.put(one, {"settings": {"dns_domain": ""}})
    assert list(refused.fields) == ["settings.dns_domain"]
    assert current(api)["settings"]["dns_domain"] == "corp.test"


def test_every_setting_can_be_changed(api: Api, one: str):
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


def test_groups_with_ipv6_bring_a_range_where_nothing_is_said_of_one(
    api: Api, one: str
):
    group_id = Group.objects.create(name="team").pk
    ok(api.put(one, {"settings": {"network_range_v6": ""}}))
    none = {"ipv6_enabled_groups": [group_id], "network_range_v6": ""}
    assert ok(api.put(one, {"settings": none}))["settings"]["network_range_v6"] == ""
    asked = {"settings": {"ipv6_enabled_groups": [group_id]}}
    # As it was: nobody asks for more than was there.
    assert ok(api.put(one, asked))["settings"]["network_range_v6"] == ""
    ok(api.put(one, {"settings": {"ipv6_enabled_groups": []}}))
    foreseen = ok(api.put(f"{one}?dry_run=true", asked))
    assert current(api)["settings"]["network_range_v6"] == ""
    drawn = ok(api.put(one, asked))["settings"]["network_range_v6"]
    assert ip_network(drawn).subnet_of(ip_network("fd00::/8"))  # type: ignore[arg-type]
    assert drawn in str(foreseen)
    ok(api.put(one, {"settings": {"ipv6_enabled_groups": []}}))
    assert ok(api.put(one, asked))["settings"]["network_range_v6"] == drawn


EXTRA = "network_traffic_logs_groups"


@pytest.mark.parametrize(
    ("settings", "status", "field", "message"),
    [
        ({"dns_domain": "*.x"}, 422, "dns_domain", "the DNS domain is not valid"),
        ({"dns_domain": "CORP.test"}, 422, "dns_domain", "zone"),
        ({"ipv6_enabled_groups": ["x"]}, 422, "ipv6_enabled_groups", "'x'"),
        ({"extra": {EXTRA: ["x"]}}, 422, f"extra.{EXTRA}", "'x'"),
        ({"extra": {EXTRA: 1}}, 400, f"extra.{EXTRA}", "JSON array"),
        ({"peer_expose_enabled": True}, 422, "peer_expose_groups", "at least one"),
        ({"peer_login_expiration": "1"}, 400, "peer_login_expiration", "int"),
        ({"jwt_allow_groups": "x"}, 400, "jwt_allow_groups", "JSON array"),
        ({"extra": []}, 400, "extra", "JSON object"),
    ],
)
def test_broken_rule_is_refused(
    *, api: Api, one: str, settings: Body, status: int, field: str, message: str
):
    zones.create({"name": "z", "domain": "corp.test"})
    before = current(api)
    trail = Trail()
    answer = api.put(one, {"settings": settings})
    assert message in refusal(answer, status)
    assert list(answer.fields) == [f"settings.{field}"]
    assert current(api) == before
    assert trail.codes == []


def test_settings_are_required(api: Api, one: str):
    answer = api.put(one, {})
    assert (answer.status, list(answer.fields)) == (422, ["settings"])
