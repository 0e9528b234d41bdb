"""Addresses as reporters write them: known in any spelling, remembered while short."""

import tracemalloc

import pytest

from events.addresses import canonical_address, host_of


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("1.2.3.4:80", "1.2.3.4"),
        ("[2001:DB8::1]:80", "2001:db8::1"),
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("fe80::1%eth0", "fe80::1"),
        ("name.example:80", ""),
        ("", ""),
    ],
)
def test_hosts_are_told_from_ports(written: str, host: str):
    assert host_of(written) == host


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
