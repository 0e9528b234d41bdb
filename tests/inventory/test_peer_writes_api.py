"""Changing and deleting peers over HTTP."""

import pytest

from meshmgmt.inventory.models import Peer
from tests.api_client import Api
from tests.factories import (
    Trail,
    account_settings,
    group,
    ipv6_for_all,
    peer,
    peers,
)
from tests.people import api_as, api_of, person
from tests.resource_contract import Body, ok, refusal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]


@pytest.fixture
def api() -> Api:
    return api_as("admin")


def owned(**facts: object) -> Peer:
    return peer("laptop", user=person("user"), **facts)


def test_put_changes_what_is_given_and_returns_the_peer(api: Api):
    one = owned()
    before = ok(api.get(f"/api/peers/{one.pk}"))
    expirations = ("login_expiration_enabled", "inactivity_expiration_enabled")
    switches = (*expirations, "ssh_enabled", "approval_required")
    changes = {"name": "Büro PC", "ip": "100.64.99.9", **dict.fromkeys(switches, True)}
    after = ok(api.put(f"/api/peers/{one.pk}", changes))
    assert after == before | changes | {"dns_label": after["dns_label"]}
    assert after["dns_label"].endswith(".mesh.internal")
    assert after["dns_label"] != before["dns_label"]
    assert ok(api.get(f"/api/peers/{one.pk}")) == after


def test_sending_back_what_was_read_changes_nothing(api: Api):
    one = owned(ipv6="fd00::7", extra_dns_labels=["www"])
    before = ok(api.get(f"/api/peers/{one.pk}"))
    trail = Trail()
    assert ok(api.put(f"/api/peers/{one.pk}", before)) == before
    assert ok(api.put(f"/api/peers/{one.pk}", {})) == before
    assert trail.codes == []


@pytest.mark.parametrize(
    ("changes", "status", "field", "message"),
    [
        ({"name": " "}, 422, "name", "name must not be empty or blank"),
        ({"name": "n" * 256}, 422, "name", "name must have at most 255 characters"),
        ({"name": 1}, 400, "name", "name: must be a JSON string"),
        ({"ssh_enabled": 1}, 400, "ssh_enabled", "must be a JSON boolean"),
        ({"ip": ""}, 422, "ip", "'' is not an IPv4 address"),
        ({"ip": "x"}, 422, "ip", "'x' is not an IPv4 address"),
        ({"ip": "10.0.0.1"}, 422, "ip", "is not within the account's network range"),
        ({"ip": "<taken>"}, 409, "ip", "another peer has the address"),
        ({"ipv6": "fd00::1"}, 412, "ipv6", "this peer is in no group that has IPv6"),
    ],
)
def test_broken_rule_is_refused(
    api: Api, changes: Body, status: int, field: str, message: str
):
    one, other = owned(), peer()
    sent = {k: other.ip if v == "<taken>" else v for k, v in changes.items()}
    before = ok(api.get(f"/api/peers/{one.pk}"))
    trail = Trail()
    answer = api.put(f"/api/peers/{one.pk}", sent)
    assert message in refusal(answer, status)
    assert list(answer.fields) == [field]
    assert ok(api.get(f"/api/peers/{one.pk}")) == before
    assert trail.codes == []


@pytest.mark.parametrize("kind", ["login", "inactivity"])
def test_peer_that_nobody_owns_has_no_expiration(api: Api, kind: str):
    one = peer()
    name = f"{kind}_expiration_enabled"
    answer = api.put(f"/api/peers/{one.pk}", {name: True})
    told = f"nobody owns this peer, so its {kind} expiration cannot be changed"
    assert (answer.status, answer.fields) == (412, {name: told})
    ok(api.put(f"/api/peers/{one.pk}", {name: False}))


def test_ipv6_address_needs_a_group_that_has_it(api: Api):
    one = owned()
    team = group("team", one)
    account_settings(network_range_v6="fd00::/64")
    path, told = f"/api/peers/{one.pk}", "this peer is in no group that has IPv6"
    answer = api.put(path, {"ipv6": "fd00::1"})
    assert (answer.status, answer.fields) == (412, {"ipv6": told})
    account_settings(ipv6_enabled_groups=[team.pk])
    assert ok(api.put(path, {"ipv6": "FD00::1"}))["ipv6"] == "fd00::1"
    assert "is not within" in refusal(api.put(path, {"ipv6": "fd01::1"}), 422)


@pytest.mark.parametrize("empty", ["", None])
def test_empty_ipv6_address_is_as_if_left_out(api: Api, empty: str | None):
    ipv6_for_all()
    one = peer(ipv6="fd00::7")
    trail = Trail()
    changed = ok(api.put(f"/api/peers/{one.pk}", {"name": "new", "ipv6": empty}))
    assert (changed["name"], changed["ipv6"]) == ("new", "fd00::7")
    assert trail.codes == ["peer.rename"]


def test_deleted_peer_is_gone_everywhere(api: Api):
    one = owned()
    team = group("team", one)
    trail = Trail()
    assert ok(api.delete(f"/api/peers/{one.pk}")) == {}
    assert trail.codes == ["peer.group.delete", "user.peer.delete"]
    assert api.get(f"/api/peers/{one.pk}").status == 404
    assert api.delete(f"/api/peers/{one.pk}").status == 404
    assert ok(api_as("owner").get(f"/api/groups/{team.pk}"))["peers"] == []


def test_owner_of_a_peer_may_see_but_not_change_it():
    account_settings(regular_users_view_blocked=False)
    someone = person("user")
    mine = peer(user=someone)
    api, path = api_of(someone), f"/api/peers/{mine.pk}"
    ok(api.get(path))
    refusal(api.put(path, {"name": "x"}), 403)
    refusal(api.delete(path), 403)


def test_renamed_peers_get_labels_of_their_own(api: Api):
    labels = {
        ok(api.put(f"/api/peers/{one.pk}", {"name": "same"}))["dns_label"]
        for one in peers(3)
    }
    assert len(labels) == 3
