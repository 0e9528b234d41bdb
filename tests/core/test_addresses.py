"""Addresses as others write them, known in any spelling, and as limits count them."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from meshmgmt.core.addresses import canonical_address, host_of, site


@given(st.ip_addresses(v=4), st.integers(min_value=1, max_value=65535))
def test_an_address_of_ipv4_is_the_same_however_it_is_host_of(
    address: object, port: int
):
    for form in ("{}", "{}:{}", "::ffff:{}", "[::ffff:{}]:{}"):
        assert host_of(form.format(address, port)) == str(address)


@given(st.ip_addresses(v=6), st.integers(min_value=1, max_value=65535))
def test_an_address_of_ipv6_is_the_same_however_it_is_host_of(address: Any, port: int):
    assume(address.ipv4_mapped is None)
    for form in ("{}", "[{}]", "[{}]:{}", "{}%eth0"):
        assert host_of(form.format(address, port)) == str(address)


@given(st.text())
def test_what_is_no_address_is_none(text: str):
    found = host_of(text)
    assert found == "" or host_of(found) == found


@pytest.mark.parametrize(
    "text", ["", "unknown", "_hidden", "7.7.7.7.7:1", "[", "a:b", "name.example:80"]
)
def test_words_of_proxies_that_name_nobody_are_none(text: str):
    assert host_of(text) == ""


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


@pytest.mark.parametrize("text", ["{}", "[{}]:80", "fe80::1%{}"])
def test_long_texts_are_no_addresses_and_not_remembered(text: str):
    tracemalloc.start()
    try:
        for number in range(100):
            assert host_of(text.format(f"{number:0100000}")) == ""
        assert tracemalloc.get_traced_memory()[0] < 10**6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["1.2.3.4:80", "[::1]", "fe80::1%" + "x" * 100, ""])
def test_nothing_else_is_taken_for_an_address(text: str):
    with pytest.raises(ValueError, match="is not an IP address"):
        canonical_address(text)
