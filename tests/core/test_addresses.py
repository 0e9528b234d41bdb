"""Addresses of clients: as proxies and sockets write them, and as limits count them."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meshmgmt.api.middleware import written
from meshmgmt.core.addresses import site


@given(st.ip_addresses(v=4), st.integers(min_value=1, max_value=65535))
def test_an_address_of_ipv4_is_the_same_however_it_is_written(
    address: object, port: int
):
    for form in ("{}", " {} ", "{}:{}", "::ffff:{}", "[::ffff:{}]:{}", '"[::ffff:{}]"'):
        assert written(form.format(address, port)) == str(address)


@given(st.ip_addresses(v=6), st.integers(min_value=1, max_value=65535))
def test_an_address_of_ipv6_is_the_same_however_it_is_written(address: Any, port: int):
    assume(address.ipv4_mapped is None)
    for form in ("{}", "[{}]", "[{}]:{}", '"[{}]:{}"', "{}%eth0"):
        assert written(form.format(address, port)) == str(address)


@given(st.text())
def test_what_is_no_address_is_none(text: str):
    found = written(text)
    assert found == "" or written(found) == found


@pytest.mark.parametrize("text", ["", "unknown", "_hidden", "7.7.7.7.7:1", "[", "a:b"])
def test_words_of_proxies_that_name_nobody_are_none(text: str):
    assert written(text) == ""


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1:2:3:4", "2001:db8::"),
        ("2001:db8:0:1::2", "2001:db8:0:1::"),
        ("", ""),
    ],
)
def test_an_ipv6_site_counts_as_one_address(address: str, counted: str):
    assert site(address) == counted
