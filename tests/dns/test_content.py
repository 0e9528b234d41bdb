"""Addresses and record content."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.content import (
    InvalidContentError,
    canonical_content,
    parse_nameserver_ip,
)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("8.8.8.8", "8.8.8.8"),
        ("127.0.0.1", "127.0.0.1"),
        ("2001:db8:0::1", "2001:db8::1"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("::ffff:102:304", "::ffff:1.2.3.4"),
        ("fe80::1", "fe80::1"),
    ],
)
def test_unicast_nameserver_addresses_are_made_canonical(text: str, canonical: str):
    assert parse_nameserver_ip(text) == canonical
    assert parse_nameserver_ip(canonical) == canonical


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not an IPv4 or IPv6"),
        ("1.1.1", "not an IPv4 or IPv6"),
        ("01.1.1.1", "not an IPv4 or IPv6"),
        (" 1.1.1.1", "not an IPv4 or IPv6"),
        ("1.1.1.1/32", "not an IPv4 or IPv6"),
        ("user@1.1.1.1", "not an IPv4 or IPv6"),
        ("[1.1.1.1]", "not an IPv4 or IPv6"),
        ("[2001:db8::1", "not an IPv4 or IPv6"),
        ("[[::1]]", "not an IPv4 or IPv6"),
        ("fe80::1%eth0", "not an IPv4 or IPv6"),
        ("\u0661.1.1.1", "not an IPv4 or IPv6"),
        ("1" * 100_000, "not an IPv4 or IPv6"),
        ("::", "unspecified"),
        ("::ffff:0.0.0.0", "unspecified"),
        ("ff02::1", "multicast"),
        ("::ffff:224.0.0.1", "multicast"),
    ],
)
def test_other_nameserver_addresses_are_refused(text: str, reason: str):
    with pytest.raises(InvalidContentError, match=reason):
        parse_nameserver_ip(text)


@pytest.mark.parametrize(
    ("record_type", "text", "canonical"),
    [
        ("A", "10.0.0.1", "10.0.0.1"),
        ("A", "0.0.0.0", "0.0.0.0"),
        ("AAAA", "2001:DB8:0:0::1", "2001:db8::1"),
        ("AAAA", "64:ff9b::1.2.3.4", "64:ff9b::102:304"),
        ("CNAME", "Target.Example.COM.", "target.example.com"),
        ("CNAME", "münchen.de", "xn--mnchen-3ya.de"),
        ("CNAME", "localhost", "localhost"),
    ],
)
def test_record_content_is_made_canonical(record_type: str, text: str, canonical: str):
    assert canonical_content(record_type, text) == canonical
    assert canonical_content(record_type, canonical) == canonical


@pytest.mark.parametrize(
    ("record_type", "text", "reason"),
    [
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
def test_other_record_content_is_refused(record_type: str, text: str, reason: str):
    with pytest.raises(InvalidContentError, match=reason):
        canonical_content(record_type, text)


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
