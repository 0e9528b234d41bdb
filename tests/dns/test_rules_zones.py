"""Rules of zones and records, of their names on pages, of addresses and content."""

import ipaddress
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.content import InvalidContentError, canonical_content, parse_nameserver_ip
from dns.rules.zones import name_in_zone, record_errors, zone_errors
from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, canonical, is_subdomain


def of_record(
    name: str, type_: str, content: str, ttl: int, domain: str = "Corp.lan"
) -> list[FieldError]:
    record = {"name": name, "type": type_, "content": content, "ttl": ttl}
    return record_errors(record, zone_domain=domain)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "z"}, []),
        ({"name": "z" * 255}, []),
        ({"name": ""}, ["The zone name must have 1 to 255 characters"]),
        ({"name": "z" * 256}, ["The zone name must have 1 to 255 characters"]),
        ({"domain": "-"}, ["Zone domain '-' is not valid: the label '-' starts with"]),
        (
            {"domain": "mesh.lan."},
            ["Zone domain 'mesh.lan.' is the domain of the peers"],
        ),
        ({"domain": "Taken.lan"}, ["A zone for the domain 'Taken.lan' already exists"]),
        ({"distribution_groups": ["g", "h"]}, ["group 'h' was not found"]),
    ],
)
def test_zone_errors_say_what_is_wrong(change: dict[str, Any], said: list[str]):
    zone = {"name": "z", "domain": "corp.lan", "distribution_groups": ["g"], **change}
    found = zone_errors(
        zone,
        known_groups={"g"},
        peer_domain="Mesh.lan",
        domain_taken=zone["domain"] == "Taken.lan",
        stored_domain=None,
    )
    assert len(found) == len(said)
    for error, text in zip(found, said, strict=True):
        assert error.message.startswith(text)


def test_the_domain_of_a_zone_stays():
    zone = {"name": "z", "domain": "corp.lan.", "distribution_groups": []}
    facts: Any = {"known_groups": (), "peer_domain": "", "domain_taken": True}
    assert zone_errors(zone, **facts, stored_domain="Corp.lan") == []
    [error] = zone_errors(zone, **facts, stored_domain="other.lan")
    assert error.message == "The domain of a zone cannot be changed"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (
            ("other.lan", "A", "x", -1),
            {
                "name": "Record name 'other.lan' is not inside the zone 'corp.lan'",
                "content": "Record content 'x': an A record needs an IPv4 address",
                "ttl": "The ttl must lie between 0 and 2147483647 seconds",
            },
        ),
        (
            ("", "TXT", "x", 0),
            {
                "name": "Record name '' is not valid: the name is empty",
                "type": "The record type must be A, AAAA or CNAME",
            },
        ),
        (
            ("corp.lan", "CNAME", "a.example", 0),
            {"type": "A CNAME cannot stand at the apex of its zone"},
        ),
    ],
)
def test_record_errors_come_in_deciding_order(
    record: tuple[str, str, str, int], said: dict[str, str]
):
    errors = [(error.field, error.message) for error in of_record(*record)]
    assert errors == list(said.items())


@given(
    st.text(max_size=40),
    st.sampled_from(["A", "AAAA", "CNAME", "", "x"]),
    st.text(max_size=40),
    st.integers(),
)
def test_no_record_crashes_the_rules(
    name: str, record_type: str, content: str, ttl: int
):
    for error in of_record(name, record_type, content, ttl):
        assert error.field in {"name", "type", "content", "ttl"}
        assert len(error.message) < 400


labels = st.from_regex(r"[a-z0-9]{1,5}", fullmatch=True)
domains = st.lists(labels, min_size=1, max_size=3).map(".".join)
whatever = st.one_of(
    domains,
    domains.map("*.{}".format),
    st.sampled_from(["@", "*", "", ".", "..", "*.", "a.*", "ü.ß", "@.a", "SVC.Test"]),
    st.text(max_size=20),
)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("www", "www.svc.test"),
        ("a.b", "a.b.svc.test"),
        ("@", "svc.test"),
        ("*", "*.svc.test"),
        ("*.dev", "*.dev.svc.test"),
        ("_sip._tcp", "_sip._tcp.svc.test"),
        ("bücher", "bücher.svc.test"),
        ("svc.test", "svc.test"),
        ("WWW.Svc.Test", "WWW.Svc.Test"),
        ("*.svc.test", "*.svc.test"),
        ("www.svc.test.", "www.svc.test."),
        ("www.other.test", "www.other.test.svc.test"),
        ("xsvc.test", "xsvc.test.svc.test"),
        ("www.other.test.", "www.other.test."),
        ("", ""),
        ("a..b", "a..b"),
        ("<b>", "<b>"),
        ("a.*", "a.*"),
    ],
)
def test_whole_and_relative_names(text: str, whole: str):
    assert name_in_zone(text, "svc.test") == whole


def test_a_domain_may_be_written_in_any_case_and_with_its_dot():
    assert name_in_zone("www", "Svc.Test.") == "www.Svc.Test"


@given(domains, domains)
def test_every_name_below_a_domain_can_be_written_both_ways(name: str, domain: str):
    whole = f"{name}.{domain}"
    assert name_in_zone(whole, domain) == whole
    assert name_in_zone(f"{whole}.", domain) == f"{whole}."
    if not is_subdomain(name, domain):
        assert name_in_zone(name, domain) == whole


@given(whatever, domains)
def test_a_name_that_was_completed_stays(text: str, domain: str):
    once = name_in_zone(text, domain)
    assert name_in_zone(once, domain) == once


@given(whatever, domains)
def test_what_the_api_takes_the_page_takes_as_the_same_name(text: str, domain: str):
    if not of_record(text, "A", "10.0.0.1", 60, domain):
        assert canonical(name_in_zone(text, domain)) == canonical(text)


@given(whatever, domains)
def test_only_names_that_end_in_a_dot_can_lie_outside(text: str, domain: str):
    found = name_in_zone(text, domain)
    try:
        outside = not is_subdomain(canonical(found).removeprefix("*."), domain)
    except InvalidNameError:
        return
    assert not outside or text.endswith(".") or _is_no_name(f"{text}.{domain}")


def _is_no_name(text: str) -> bool:
    try:
        canonical(text)
    except InvalidNameError:
        return True
    return False


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
