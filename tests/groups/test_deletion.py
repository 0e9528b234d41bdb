"""Deleting a group takes it out of everything, and disables what it restricted."""

from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from groups.models import Group
from groups.services import group_delete
from meshmgmt.access import models as access
from meshmgmt.core import clock
from meshmgmt.core.orderedlinks import member_keys, set_members
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.dns.bodies import nameserver_group, zone
from tests.factories import (
    Trail,
    account_settings,
    group,
    group_id,
    network,
    peer,
    peers,
    resource,
    rule,
    setup_key,
)
from tests.people import api_as, person
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    return api_as("admin")


def stored(made: Any, **lists: list[Group]) -> Any:
    """Store an object with the given lists of groups."""
    with account_write():
        made.save()
        for name, groups in lists.items():
            keys = [entry.pk for entry in groups]
            set_members(getattr(access, name), made, keys, new=True)
    return made


def route(**lists: list[Group]) -> access.Route:
    """Store an enabled route; its lists are named as the classes of their links."""
    made = access.Route(network_id="office", network="10.1.0.0/16")
    return cast("access.Route", stored(made, **lists))


def test_deletion_acts_on_everything_with_one_event_each(api: Api):
    one, two = peer("one"), peer("two")
    host = resource("printer")
    gone = group("gone", one, two, resources=[(host.pk, "host"), ("ghost", "domain")])
    kept = group("kept")
    restricted = rule([gone], [kept])
    relaxed = rule([gone, kept], [kept, gone])
    set_members(access.RuleAuthorizedGroup, relaxed, [(kept.pk, ""), (gone.pk, "root")])
    way = route(
        RouteGroup=[kept, gone], RoutePeerGroup=[kept], RouteAccessControlGroup=[gone]
    )
    gate = stored(access.Router(network=network("lab")), RouterPeerGroup=[gone])
    key = setup_key(auto_groups=[kept.pk, gone.pk])
    asked = {"email": "new@mesh.dev", "expires_at": clock.now()}
    guest = stored(access.Invite(token_hash="1" * 64, **asked), InviteAutoGroup=[gone])
    user = person("user", name="Ann", email="ann@mesh.dev")
    set_members(access.UserAutoGroup, user, [gone.pk])
    account = account_settings(
        peer_expose_enabled=True,
        peer_expose_groups=[gone.pk],
        network_traffic_logs_groups=[gone.pk, kept.pk],
    )
    trail = Trail()

    answer = api.delete(f"/api/groups/{gone.pk}")

    assert (answer.status, answer.json) == (200, {})
    assert trail.targets == [
        ("rule.update", restricted.pk),
        ("policy.update", relaxed.policy_id),
        ("rule.update", relaxed.pk),
        ("policy.update", restricted.policy_id),
        ("route.update", way.pk),
        ("network.router.update", gate.pk),
        ("user.group.delete", user.pk),
        ("user.invite.link.update", guest.pk),
        ("setupkey.group.delete", key.pk),
        ("account.setting.update", account.pk),
        ("account.setting.peer.expose.disable", account.pk),
        ("peer.group.delete", one.pk),
        ("peer.group.delete", two.pk),
        ("resource.group.delete", gone.pk),
        ("resource.group.delete", gone.pk),
        ("group.delete", gone.pk),
    ]
    reason = "group 'gone' was deleted"
    assert {event.meta["reason"] for event in trail.events} == {reason}
    assert len({event.request_id for event in trail.events}) == 1
    by_code = {(event.activity_code, event.target_id): event for event in trail.events}
    about = {"group": "gone", "group_id": gone.pk, "reason": reason}
    names = {"user_name": "Ann", "username": "Ann", "email": "ann@mesh.dev"}
    of_user = by_code["user.group.delete", user.pk].meta
    assert of_user == about | names | {"is_service_user": "false"}
    of_peer = {"peer_ip": one.ip, "peer_fqdn": f"{one.dns_label}.mesh.internal"}
    assert by_code["peer.group.delete", one.pk].meta == about | of_peer
    assert by_code["rule.update", restricted.pk].changes == {
        "enabled": {"before": True, "after": False},
        "sources": {"added": [], "removed": [gone.pk]},
    }

    for changed in (restricted, relaxed, way, gate, account):
        changed.refresh_from_db()
    enabled = [each.enabled for each in (restricted, relaxed, way, gate)]
    assert enabled == [False, True, False, False]
    assert member_keys(access.RuleSource, relaxed) == [kept.pk]
    assert member_keys(access.RuleDestination, relaxed) == [kept.pk]
    assert member_keys(access.RuleAuthorizedGroup, relaxed) == [(kept.pk, "")]
    assert member_keys(access.RouteGroup, way) == [kept.pk]
    assert member_keys(access.SetupKeyAutoGroup, key) == [kept.pk]
    assert member_keys(access.UserAutoGroup, user) == []
    assert not account.peer_expose_enabled
    assert account.network_traffic_logs_groups == [kept.pk]
    assert account.network_traffic_logs_enabled
    assert Peer.objects.filter(pk__in=[one.pk, two.pk]).count() == 2
    assert not Group.objects.filter(pk=gone.pk).exists()


def test_policy_left_without_an_enabled_rule_is_disabled_too():
    gone, kept = group("gone"), group("kept")
    alone, first = rule([gone], [kept]), rule([gone], [kept])
    second = rule([kept], [kept])
    with account_write():
        second.policy = first.policy
        second.save()
    trail = Trail()

    gone.delete()

    changed = [e for e in trail.events if e.activity_code == "policy.update"]
    assert {event.target_id for event in changed} == {alone.policy_id, first.policy_id}
    assert {event.meta["reason"] for event in changed} == {"group 'gone' was deleted"}
    enabled = dict(access.Policy.objects.values_list("pk", "enabled"))
    assert (enabled[alone.policy_id], enabled[first.policy_id]) == (False, True)
    [off] = [event for event in changed if event.target_id == alone.policy_id]
    assert off.changes["enabled"] == {"before": True, "after": False}


@pytest.mark.parametrize(
    "name", ["RouteGroup", "RoutePeerGroup", "RouteAccessControlGroup"]
)
def test_route_is_disabled_when_any_of_its_lists_becomes_empty(name: str):
    gone, kept = group(), group()
    full = route(**{name: [gone, kept]})
    emptied = route(**{name: [gone]})

    gone.delete()

    full.refresh_from_db()
    emptied.refresh_from_db()
    assert (full.enabled, emptied.enabled) == (True, False)


def test_traffic_log_of_some_groups_never_becomes_that_of_all():
    gone = group()
    account = account_settings(
        network_traffic_logs_enabled=True, network_traffic_logs_groups=[gone.pk]
    )

    gone.delete()

    account.refresh_from_db()
    assert account.network_traffic_logs_groups == []
    assert not account.network_traffic_logs_enabled


def test_object_that_is_off_already_stays_so_without_an_event_about_it():
    gone = group()
    off = rule([gone], [group()])
    off.enabled = False
    off.save()
    key, trail = gone.pk, Trail()

    gone.delete()

    assert trail.events[1].changes == {"sources": {"added": [], "removed": [key]}}


def test_usage_says_before_what_deletion_then_does(api: Api):
    gone, kept = group("gone", peer(), resources=[("ghost", "domain")]), group("kept")
    restricted = rule([gone], [kept])
    relaxed = rule([gone, kept], [kept])
    key = setup_key(auto_groups=[gone.pk])

    usage = ok(api.get(f"/api/groups/{gone.pk}/usage"))

    of_rules = [
        {"kind": "policy_rule", "id": each.pk, "field": "sources"}
        | {"name": f"{each.policy.name} / {each.name}"}
        for each in (restricted, relaxed)
    ]
    of_key = {"kind": "setup_key", "id": key.pk, "field": "auto_groups", "name": "key"}
    assert usage == {
        "id": gone.pk,
        "name": "gone",
        "deletable": True,
        "peers_count": 1,
        "resources_count": 1,
        "unknown_resources": [{"id": "ghost", "type": "domain"}],
        "references": [
            of_rules[0] | {"disabled_by_deletion": True},
            of_rules[1] | {"disabled_by_deletion": False},
            of_key | {"disabled_by_deletion": False},
        ],
    }


def test_group_all_may_be_used_but_not_deleted(api: Api):
    everybody = Group.objects.get()
    rule([everybody], [everybody])

    usage = api.get(f"/api/groups/{everybody.pk}/usage").json

    assert usage["deletable"] is False
    fields = [entry["field"] for entry in usage["references"]]
    assert fields == ["sources", "destinations"]


WAYS: dict[str, Callable[[Group], object]] = {
    "service": lambda gone: group_delete(group_id=gone.pk),
    "model": lambda gone: gone.delete(),
    "queryset": lambda gone: Group.objects.filter(pk=gone.pk).delete(),
}


@pytest.mark.parametrize("delete", WAYS.values(), ids=WAYS)
def test_deleting_through_the_model_or_a_queryset_does_the_same(delete: Any):
    gone = group("a", peer())
    made, trail = rule([gone], [gone]), Trail()

    delete(gone)

    of_rule = ["rule.update", "policy.update"]
    assert trail.codes == [*of_rule, "peer.group.delete", "group.delete"]
    made.refresh_from_db()
    assert not made.enabled


def test_deletion_needs_the_same_queries_for_any_number_of_lists():
    def queries(size: int) -> int:
        gone, kept = group("", *peers(size)), group()
        policy = rule([gone, kept], [kept, gone]).policy
        for _ in range(size):
            rule([gone, kept], [kept, gone])
            rule([gone, kept], [kept, gone], policy)
            setup_key(auto_groups=[gone.pk])
        with CaptureQueriesContext(connection) as captured:
            gone.delete()
        return len(captured)

    assert queries(12) == queries(1)


@pytest.mark.parametrize(
    ("kind", "make", "most"),
    [("groups", group, 20), ("peers", peer, 24)],  # PostgreSQL's lock is one
    ids=["an empty group", "a peer"],
)
def test_deletion_of_what_nobody_uses_asks_few_queries(
    api: Api, kind: str, make: Any, most: int
):
    gone = make("unused")
    api.get("/api/users/current")  # the token's last use is stored now
    with CaptureQueriesContext(connection) as captured:
        assert ok(api.delete(f"/api/{kind}/{gone.pk}")) == {}
    assert len(captured) <= most
    assert not type(gone).objects.filter(pk=gone.pk).exists()


def test_objects_that_lose_their_last_group_are_disabled(api: Api):
    kept, lost = group_id("kept"), group_id("lost")
    paths = []
    for path, body, field in (
        ("/api/dns/nameservers", nameserver_group, "groups"),
        ("/api/dns/zones", zone, "distribution_groups"),
    ):
        for number, groups in enumerate(([kept, lost], [lost])):
            changes = {"name": f"n{number}", "domain": f"z{number}.test", field: groups}
            made = ok(api.post(path, body(**changes)))
            paths.append((f"{path}/{made['id']}", field))
    ok(api.put("/api/dns/settings", {"disabled_management_groups": [lost]}))
    trail = Trail()

    Group.objects.get(pk=lost).delete()

    shown = [(ok(api.get(path)), field) for path, field in paths]
    stand = [(found[field], found["enabled"]) for found, field in shown]
    assert stand == [([kept], True), ([], False)] * 2
    settings = ok(api.get("/api/dns/settings"))
    assert settings == {"disabled_management_groups": []}
    assert Counter(trail.codes) == {
        "nameserver.group.update": 2,
        "dns.zone.update": 2,
        "dns.setting.disabled.management.group.delete": 1,
        "group.delete": 1,
    }
    assert trail.codes[-1] == "group.delete"
    assert all("lost" in event.meta["reason"] for event in trail.events[:-1])
