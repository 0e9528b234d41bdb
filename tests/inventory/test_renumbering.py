"""What a new network range does to the peers, as a client sees it."""

from ipaddress import IPv6Network
from typing import Any, Final

import pytest

from groups.selectors import all_group_id
from meshmgmt.core.context import account_id
from meshmgmt.core.queries import BATCH
from meshmgmt.inventory.addresses import hosts
from meshmgmt.inventory.models import Peer
from tests.api_client import Answer, Api
from tests.databases import few_parameters
from tests.factories import Trail, group, peer, peers
from tests.resource_contract import ok, refusal

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("wide_range")]
SMALL: Final = IPv6Network("fd00:1::/120")
"""The smallest that may be set."""


def change(api: Api, **settings: Any) -> Answer:
    """Change settings of the account."""
    settings |= {"auto_update_version": "disabled"}  # left out it would change, too
    return api.put(f"/api/accounts/{account_id()}", {"settings": settings})


def addresses(column: str = "ip") -> list[Any]:
    return list(Peer.objects.order_by("id").values_list(column, flat=True))


def test_peers_outside_of_a_new_range_have_addresses_inside(api: Api):
    inside = peer(ip="10.20.0.1")
    first, second = peer(ip="100.64.9.1"), peer(ip="100.64.9.2")
    trail = Trail()

    ok(change(api, network_range="10.20.0.0/16"))

    assert addresses() == [inside.ip, "10.20.0.2", "10.20.0.3"]
    assert trail.targets == [
        ("account.network.range.update", account_id()),
        ("peer.ip.update", first.pk),
        ("peer.ip.update", second.pk),
    ]
    meta = trail.events[1].meta
    assert (meta["old_ip"], meta["ip"]) == ("100.64.9.1", "10.20.0.2")
    assert meta["reason"] == "the network range was changed"


def test_more_peers_move_than_a_statement_takes_parameters(api: Api):
    peers(BATCH + 100)
    with few_parameters(BATCH + 99):
        ok(change(api, network_range="10.20.0.0/16"))
    assert all(text.startswith("10.20.") for text in addresses())


def test_peer_on_an_address_that_the_new_range_reserves_moves(api: Api):
    for last in (0, 254, 255, 253):
        peer(ip=f"10.20.0.{last}")

    ok(change(api, network_range="10.20.0.0/24"))

    assert addresses() == ["10.20.0.1", "10.20.0.2", "10.20.0.3", "10.20.0.253"]


def test_range_without_room_for_all_peers_is_refused(api: Api):
    peers(14)
    before, trail = addresses(), Trail()

    answer = change(api, network_range="10.20.0.0/28")

    told = "10.20.0.0/28 has too few addresses for 14 peers"
    assert (answer.status, answer.fields) == (422, {"settings.network_range": told})
    assert addresses() == before
    assert trail.codes == []


def test_ipv6_addresses_follow_their_range(api: Api):
    team = group("team", peer())
    peer()
    enabled = {"ipv6_enabled_groups": [team.pk]}
    ok(change(api, network_range_v6="fd00::/64", **enabled))
    assert addresses("ipv6")[0].startswith("fd00::")
    trail = Trail()

    ok(change(api, network_range_v6="fd01::/64"))
    moved, none = addresses("ipv6")
    assert moved.startswith("fd01::")
    assert none is None
    ok(change(api, network_range_v6=""))
    assert addresses("ipv6") == [None, None]

    assert trail.codes == ["account.network.range.update", "peer.ip.update"] * 2


def test_ipv6_range_has_room_for_a_peer_on_each_address(api: Api):
    peers(len(hosts(SMALL)))
    enabled = {"ipv6_enabled_groups": [all_group_id()]}

    ok(change(api, network_range_v6=str(SMALL), **enabled))
    assert set(addresses("ipv6")) == {str(SMALL[number]) for number in hosts(SMALL)}

    ok(change(api, network_range_v6="fd00:2::/64"))
    peer()
    answer = change(api, network_range_v6=str(SMALL))
    told = f"the network range {SMALL} has no free address"
    assert (answer.status, answer.fields) == (422, {"settings.network_range_v6": told})


@pytest.mark.parametrize(
    ("setting", "text"),
    [
        *(("network_range", x) for x in ("8.8.0.0/16", "172.0.0.0/8", "0.0.0.0/0")),
        ("network_range_v6", "2001:4860::/32"),
    ],
)
def test_public_range_is_refused(api: Api, setting: str, text: str):
    answer = change(api, **{setting: text})

    assert f"{text} is not private" in refusal(answer, 422)
    assert list(answer.fields) == [f"settings.{setting}"]


@pytest.mark.parametrize("column", ["ip", "ipv6"])
def test_address_sent_back_unchanged_always_passes(api: Api, column: str):
    one = peer(ip="192.0.2.9", ipv6="2001:db8::9")  # as another service gave them
    shown = ok(api.get(f"/api/peers/{one.pk}"))

    changed = ok(api.put(f"/api/peers/{one.pk}", {**shown, "name": "kitchen"}))

    assert (changed["name"], changed[column]) == ("kitchen", shown[column])


@pytest.mark.parametrize("text", ["100.64.0.0", "100.127.255.254", "100.127.255.255"])
def test_reserved_address_is_given_to_nobody(api: Api, text: str):
    one = peer(ip="100.64.3.3")

    answer = api.put(f"/api/peers/{one.pk}", {"ip": text})

    told = {"ip": f"{text} cannot be the address of a peer"}
    assert (answer.status, answer.fields) == (422, told)
