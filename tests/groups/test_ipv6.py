"""IPv6 addresses follow the groups that have IPv6."""

import json
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from groups.models import Group
from groups.selectors import all_group_id
from groups.services import change_groups_of_peers, group_delete
from meshmgmt.accounts.models import Account
from meshmgmt.accounts.services.account import account_update, ensure_account
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.imports import peers_import
from meshmgmt.inventory.services.peers import peer_create, peer_delete
from tests.factories import Trail, group, peer, public_key

pytestmark = pytest.mark.django_db
RANGE = "fd00:1::/64"
KEYS = [public_key(number) for number in range(3)]


def ipv6(one: Peer) -> str | None:
    one.refresh_from_db()
    return one.ipv6


def has_ipv6(one: Peer, network: str = RANGE) -> bool:
    address = ipv6(one)
    return address is not None and ip_address(address) in ip_network(network)


def settings(**changes: Any) -> Account:
    return account_update(settings=changes)


@pytest.fixture
def six() -> Group:
    made = group("six")
    settings(network_range_v6=RANGE, ipv6_enabled_groups=[made.pk])
    return made


@pytest.fixture
def member(six: Group) -> Peer:
    made = peer()
    change_groups_of_peers([made.pk], join=[six.pk])
    return made


def test_member_gets_an_address_and_loses_it_on_leaving(six: Group):
    one = peer()
    trail = Trail()
    change_groups_of_peers([one.pk], join=[six.pk])
    assert has_ipv6(one)
    assert "peer.ip.update" in trail.codes
    change_groups_of_peers([one.pk], leave=[six.pk])
    assert ipv6(one) is None


def test_member_of_two_such_groups_keeps_the_address(six: Group, member: Peer):
    before = ipv6(member)
    settings(ipv6_enabled_groups=[six.pk, group("other", member).pk])
    change_groups_of_peers([member.pk], leave=[six.pk])
    assert ipv6(member) == before


def test_settings_give_and_take_addresses():
    one, two = peer(), peer()
    settings(network_range_v6=RANGE)
    assert ipv6(one) is None
    settings(ipv6_enabled_groups=[all_group_id()])
    assert has_ipv6(one)
    assert has_ipv6(two)
    assert ipv6(one) != ipv6(two)
    settings(ipv6_enabled_groups=[])
    assert ipv6(one) is None


def test_a_new_account_needs_no_more_than_the_groups_that_have_ipv6():
    one = peer()
    settings(ipv6_enabled_groups=[all_group_id()])
    assert has_ipv6(one, ensure_account().network_range_v6)


def test_a_new_peer_has_an_address_while_all_have_one():
    settings(network_range_v6=RANGE, ipv6_enabled_groups=[all_group_id()])
    assert has_ipv6(peer_create(name="one", wg_public_key=KEYS[0]))


def test_imported_peers_have_addresses_while_all_have_one():
    settings(network_range_v6=RANGE, ipv6_enabled_groups=[all_group_id()])
    own = {"ipv6": "fd00:1::7"}
    lines = [{"wg_public_key": key, "name": "p"} for key in KEYS[1:]]
    lines += [{"wg_public_key": KEYS[0], "name": "q", **own}]
    trail = Trail()
    peers_import(json.dumps(line).encode() for line in lines)
    assert len(trail.codes) == len(lines)  # that they came says the address too
    assert all(map(has_ipv6, Peer.objects.all()))
    assert Peer.objects.get(name="q").ipv6 == own["ipv6"]


def test_a_new_peer_has_no_address_while_only_some_have_one(six: Group):
    assert peer_create(name="one", wg_public_key=KEYS[0]).ipv6 is None


def test_new_range_gives_new_addresses(member: Peer):
    settings(network_range_v6="fd00:2::/64")
    assert has_ipv6(member, "fd00:2::/64")


def test_deleting_the_group_takes_the_addresses(six: Group, member: Peer):
    group_delete(group_id=six.pk)
    assert ipv6(member) is None


def test_deleted_peer_leaves_one_event_of_its_own(member: Peer):
    trail = Trail()
    peer_delete(peer_id=member.pk)
    assert "peer.ip.update" not in trail.codes


def test_addresses_stay_where_the_account_has_no_range():
    settings(network_range_v6="")
    one = peer(ipv6="fd00::7")
    settings(peer_approval_enabled=True)
    assert ipv6(one) == "fd00::7"


def test_settings_that_change_nothing_about_ipv6_change_no_address(member: Peer):
    before = ipv6(member)
    settings(peer_approval_enabled=True)
    assert ipv6(member) == before
