"""Addresses that peers are given."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.accounts.models import Account
from meshmgmt.accounts.services.account import (
    drawn_range,
    drawn_range_v6,
    ensure_account,
    make_account,
)
from meshmgmt.core.errors import InvalidArgument
from meshmgmt.inventory.addresses import (
    hosts,
    is_for_peers,
    lowest_address,
    probed_address,
)
from meshmgmt.inventory.models import Peer
from meshmgmt.inventory.services.peers import free_ipv6, peer_create, peer_update
from tests.factories import account_settings, peers, public_key
from tests.queries import asking

prefixes = st.integers(8, 28)


@given(st.ip_addresses(v=4), prefixes, st.data())
def test_first_and_last_two_addresses_are_never_given(address, prefix, data):
    network = ipaddress.ip_network(f"{address}/{prefix}", strict=False)
    found = ipaddress.ip_address(probed_address(network, lambda _: False) or "")
    assert found in network
    assert found not in {network[0], network[-2], network[-1]}
    assert is_for_peers(found, network)
    number = data.draw(st.integers(0, network.num_addresses - 1))
    assert is_for_peers(network[number], network) == (number in hosts(network))


@given(st.integers(22, 28), st.data())
def test_lowest_free_address_is_found_in_a_full_range(prefix, data):
    network = ipaddress.ip_network(f"100.64.0.0/{prefix}")
    every = range(1, network.num_addresses - 2)
    numbers = set(data.draw(st.lists(st.sampled_from(every), unique=True)))
    taken = {str(network[number]) for number in numbers}
    found = lowest_address(network, taken)
    free = set(every) - numbers
    assert found == ((str(network[min(free)]), min(free)) if free else None)


@pytest.mark.django_db
def test_every_address_of_a_small_range_is_given_once_and_then_none():
    account_settings(network_range="100.64.0.0/28")
    for number in range(1, 14):
        peer_create(name="web", wg_public_key=public_key(number))

    with pytest.raises(InvalidArgument, match=r"100\.64\.0\.0/28 has no free address"):
        peer_create(name="web", wg_public_key=public_key(99))

    given_out = set(Peer.objects.values_list("ip", flat=True))
    assert given_out == {f"100.64.0.{number}" for number in range(1, 14)}


@pytest.mark.django_db
@pytest.mark.parametrize("last", ["0.0", "255.254", "255.255"])
def test_nobody_may_set_an_address_that_is_for_no_peer(last: str):
    account_settings(network_range="100.71.0.0/16")
    with pytest.raises(InvalidArgument, match="cannot be the address of a peer"):
        peer_create(name="web", wg_public_key=public_key(1), ip=f"100.71.{last}")


@pytest.mark.django_db
def test_ipv6_addresses_come_from_the_range():
    network = ipaddress.ip_network("fd12:3456:789a:1::/64")
    assert ipaddress.ip_address(free_ipv6(str(network))) in network


@pytest.mark.django_db
def test_work_for_one_peer_does_not_grow_with_the_mesh():
    def work(number: int) -> None:
        made = peer_create(name=f"new {number}", wg_public_key=public_key(number))
        peer_update(peer_id=made.pk, name=f"newer {number}")

    _, few = asking(lambda: work(1))
    peers(30)
    _, many = asking(lambda: work(2))
    assert len(many) <= len(few)
    reads = [sql for sql in many if 'FROM "inventory_peer"' in sql]
    assert [sql for sql in reads if "WHERE" not in sql] == []


@pytest.mark.django_db
def test_account_draws_a_range_whose_reverse_names_clients_serve():
    """Clients make reverse zones of whole octets: of a /10 only 1/64 would answer."""
    Account.objects.all().delete()
    drawn = ipaddress.IPv4Network(ensure_account().network_range)
    assert drawn.prefixlen == 16
    assert drawn.subnet_of(ipaddress.IPv4Network("100.64.0.0/10"))
    assert len({drawn_range() for _ in range(100)}) > 10


@pytest.mark.django_db
def test_account_draws_an_ipv6_range_that_no_other_has():
    Account.objects.all().delete()
    drawn = ipaddress.IPv6Network(ensure_account().network_range_v6)
    assert drawn.prefixlen == 64
    assert drawn.subnet_of(ipaddress.IPv6Network("fd00::/8"))
    assert len({drawn_range_v6() for _ in range(100)}) == 100


@pytest.mark.django_db
def test_account_that_is_there_keeps_its_range():
    account_settings(network_range="100.64.0.0/10")
    assert ensure_account().network_range == "100.64.0.0/10"
    make_account()
    assert ensure_account().network_range == "100.64.0.0/10"
