"""Rules on the account's settings and what their changes say."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.activities import Activity
from events.models import AuditEvent
from groups.models import Group
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.services.account import WRITABLE, account_update
from meshmgmt.accounts.settingrules import (
    canonical_settings,
    settings_errors,
)
from meshmgmt.core.errors import InvalidArgument

VALID: dict[str, Any] = {name: getattr(Account(), name) for name in WRITABLE}
DAY = 24 * 3600


def test_new_accounts_have_right_settings():
    assert settings_errors(VALID) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("peer_login_expiration", 3600),
        ("peer_login_expiration", 180 * DAY),
        ("peer_inactivity_expiration", 60),
        ("dns_domain", ""),
        ("dns_domain", "a"),
        ("dns_domain", "Münster.example"),
        ("network_range", "10.0.0.0/28"),
        ("network_range", "100.64.3.7/16"),
        ("network_range_v6", ""),
        ("network_range_v6", "fd00::/64"),
        ("auto_update_version", ""),
        ("auto_update_version", "latest"),
        ("auto_update_version", "0.31.2-rc.1+b"),
        ("jwt_allow_groups", ["x" * 255]),
    ],
)
def test_right_values(name: str, value: Any):
    assert settings_errors({**VALID, name: value}) == []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("default_dns_domain", "*.mesh", "wildcards"),
        ("peer_login_expiration", 3599, "at least one hour"),
        ("peer_login_expiration", 180 * DAY + 1, "at most 180 days"),
        ("peer_inactivity_expiration", 59, "at least one minute"),
        ("dns_domain", "*.mesh", "wildcards"),
        ("dns_domain", "a..b", "a label is empty"),
        ("dns_domain", ".".join(["ü"] * 120), "255"),
        ("network_range", "", "not a network range"),
        ("network_range", "10.0.0.0/33", "not a network range"),
        ("network_range", "fd00::/64", "must be IPv4"),
        ("network_range", "127.0.0.0/8", "loopback"),
        ("network_range", "224.0.0.0/8", "multicast"),
        ("network_range", "169.254.0.0/16", "link-local"),
        ("network_range", "10.0.0.0/29", "too small"),
        ("network_range_v6", "10.0.0.0/8", "must be IPv6"),
        ("network_range_v6", "fe80::/64", "link-local"),
        ("network_range_v6", "fd00::/121", "too small"),
        ("network_range_v6", "fd00::%eth0/64", "no zone"),
        ("auto_update_version", "newest", "latest, disabled"),
        ("auto_update_version", "1.2", "latest, disabled"),
        ("auto_update_version", "\u0661.2.3", "latest, disabled"),
        ("auto_update_version", "1.2.3-" + "x" * 45, "at most 50"),
        ("jwt_groups_claim_name", "x\x00", "NUL"),
        ("jwt_allow_groups", ["x" * 256], "255"),
    ],
)
def test_wrong_values_are_named(name: str, value: Any, text: str):
    (error,) = settings_errors({**VALID, name: value})
    assert error.field == name
    assert text in error.message


@given(st.text(max_size=30))
def test_any_text_is_judged_and_canonical_forms_stay(text: str):
    for name in ("dns_domain", "network_range", "network_range_v6"):
        values = {**VALID, name: text}
        if not settings_errors(values):
            once = canonical_settings(values)
            assert settings_errors(once) == []
            assert canonical_settings(once) == once


EVENTS = """
peer_login_expiration_enabled        false  setting.peer.login.expiration.disable
peer_login_expiration                7200   setting.peer.login.expiration.update
peer_inactivity_expiration_enabled   true   peer.inactivity.expiration.enable
peer_inactivity_expiration           120    peer.inactivity.expiration.update
peer_approval_enabled                true   setting.peer.approval.enable
user_approval_required               false  setting.update
regular_users_view_blocked           false  setting.update
groups_propagation_enabled           false  setting.group.propagation.disable
jwt_groups_enabled                   true   setting.update
jwt_groups_claim_name            "groups"   setting.update
jwt_allow_groups                    ["a"]   setting.update
routing_peer_dns_resolution_enabled  false  setting.routing.peer.dns.resolution.disable
dns_domain                 "new.internal"   dns.domain.update
default_dns_domain         "new.internal"   dns.domain.update
network_range                "10.0.0.0/8"   network.range.update
network_range_v6              "fd00::/64"   network.range.update
lazy_connection_enabled              false  setting.lazy.connection.disable
auto_update_version              "latest"   settings.auto.version.update
auto_update_always                   true   setting.auto.update.always.enable
metrics_push_enabled                 true   setting.metrics.push.enable
local_auth_disabled                  true   setting.update
local_mfa_enabled                    true   setting.local.mfa.enable
network_traffic_logs_enabled         false  setting.update
network_traffic_packet_counter_enabled true setting.update
"""
"""Setting, another value, and the code of the event after `account.`."""


@pytest.mark.django_db
class TestUpdate:
    def test_ranges_and_domain_become_canonical(self):
        given = {"network_range": "100.64.3.7/16", "dns_domain": "Mesh.Internal."}
        account_update(settings=given)
        found = Account.objects.values_list("network_range", "dns_domain").get()
        assert found == ("100.64.0.0/16", "mesh.internal")

    def test_unknown_settings_are_a_programming_error(self):
        with pytest.raises(ValueError, match="id"):
            account_update(settings={"id": "x"})

    @pytest.mark.parametrize(
        "name",
        ["peer_expose_groups", "ipv6_enabled_groups", "network_traffic_logs_groups"],
    )
    def test_unknown_groups_are_refused(self, name: str):
        group = Group.objects.create(name="known")
        account_update(settings={name: [group.pk]})
        with pytest.raises(InvalidArgument) as refused:
            account_update(settings={name: [group.pk, "nope"]})
        assert refused.value.errors[0].field == name
        assert "'nope' was not found" in refused.value.message
        assert getattr(Account.objects.get(), name) == [group.pk]

    @pytest.mark.parametrize("line", EVENTS.strip().splitlines())
    def test_each_setting_has_its_event(self, line: str):
        name, text, code = line.split()
        value = json.loads(text)
        account = Account.objects.get()
        before = getattr(account, name)
        meta = {"version": value} if name == "auto_update_version" else {}
        if name.endswith("dns_domain") or name.startswith("network_range"):
            meta = {f"old_{name}": before, f"new_{name}": value}
        first = AuditEvent.objects.latest("id").pk
        account_update(settings={name: value})
        (event,) = AuditEvent.objects.filter(pk__gt=first)
        assert (event.activity_code, event.target_id) == (f"account.{code}", account.pk)
        assert event.meta == meta
        assert event.changes == {name: {"before": before, "after": value}}

    def test_switching_back_has_the_opposite_event(self):
        for value, word in ((True, "enable"), (False, "disable")):
            account_update(settings={"local_mfa_enabled": value})
            event = AuditEvent.objects.latest("id")
            assert event.activity_code == f"account.setting.local.mfa.{word}"

    def test_ipv6_is_on_while_a_group_has_it(self):
        groups = [Group.objects.create(name=name).pk for name in "ab"]
        codes = []
        for chosen in (groups[:1], groups, []):
            account_update(settings={"ipv6_enabled_groups": chosen})
            codes.append(AuditEvent.objects.latest("id").activity_code)
        assert codes == [
            Activity.ACCOUNT_SETTING_IPV6_ENABLE,
            Activity.ACCOUNT_SETTING_UPDATE,
            Activity.ACCOUNT_SETTING_IPV6_DISABLE,
        ]

    def test_nothing_changed_emits_nothing(self):
        account_update(settings=VALID)
        events = AuditEvent.objects.count()
        account_update(settings={**VALID, "dns_domain": "MESH.internal"})
        assert AuditEvent.objects.count() == events
