"""Addresses and record content."""

import ipaddress
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.content import InvalidContentError, canonical_content, parse_nameserver_ip


def read(kind: str) -> Callable[[str], str]:
    """Return what reads the address of a server, or the content of a record's type."""
    if kind == "server":
        return parse_nameserver_ip
    return partial(canonical_content, kind)


@pytest.mark.parametrize(
    ("kind", "text", "canonical"),
    [
        ("server", "8.8.8.8", "8.8.8.8"),
        ("server", "127.0.0.1", "127.0.0.1"),
        ("server", "2001:db8:0::1", "2001:db8::1"),
        ("server", "[2001:DB8::1]", "2001:db8::1"),
        ("server", "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("server", "::ffff:102:304", "::ffff:1.2.3.4"),
        ("server", "fe80::1", "fe80::1"),
        ("A", "10.0.0.1", "10.0.0.1"),
        ("A", "0.0.0.0", "0.0.0.0"),
        ("AAAA", "2001:DB8:0:0::1", "2001:db8::1"),
        ("AAAA", "64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("CNAME", "Target.Example.COM.", "target.example.com"),
        ("CNAME", "münchen.de", "xn--mnchen-3ya.de"),
        ("CNAME", "localhost", "localhost"),
    ],
)
def test_addresses_and_content_are_made_canonical(kind: str, text: str, canonical: str):
    assert read(kind)(text) == read(kind)(canonical) == canonical


NO_ADDRESS = [
    *("", "1.1.1", "01.1.1.1", " 1.1.1.1", "1.1.1.1/32", "user@1.1.1.1", "[1.1.1.1]"),
    *("[2001:db8::1", "[[::1]]", "fe80::1%eth0", "\u0661.1.1.1", "1" * 100_000),
]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        *(("server", text, "not an IPv4 or IPv6") for text in NO_ADDRESS),
        ("server", "::", "unspecified"),
        ("server", "::ffff:0.0.0.0", "unspecified"),
        ("server", "ff02::1", "multicast"),
        ("server", "::ffff:224.0.0.1", "multicast"),
        ("A", "1.2.3", "IPv4 address"),
        ("A", "1.2.3.4\x00", "IPv4 address"),
        ("AAAA", "", "IPv6 address"),
        ("AAAA", "[::1]", "IPv6 address"),
        ("AAAA", "fe80::1%1", "IPv6 address"),
        ("CNAME", "a b", "letters, digits"),
        ("TXT", "anything", "not A, AAAA or CNAME"),
        ("a", "1.2.3.4", "not A, AAAA or CNAME"),
    ],
)
def test_other_addresses_and_content_are_refused(kind: str, text: str, reason: str):
    with pytest.raises(InvalidContentError, match=reason):
        read(kind)(text)


@given(st.ip_addresses())
def test_every_address_has_one_spelling(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
):
    spellings = {str(address), address.exploded, address.exploded.upper()}
    forms = set()
    for spelling in spellings:
        try:
            forms.add(parse_nameserver_ip(spelling))
        except InvalidContentError as error:
            forms.add(str(error))
    assert len(forms) == 1


@given(st.sampled_from(["A", "AAAA", "CNAME", "MX"]), st.text(max_size=300))
def test_no_content_crashes(record_type: str, text: str):
    try:
        result = canonical_content(record_type, text)
    except InvalidContentError:
        return
    if len(result) <= 255:
        assert canonical_content(record_type, result) == result
