"""Names on the pages of a zone: whole ones stay, others are completed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dns.rules.zones import name_in_zone, record_errors
from meshmgmt.core.names import InvalidNameError, canonical, is_subdomain

DOMAIN = "svc.test"

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
    assert name_in_zone(text, DOMAIN) == whole


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
    if not _errors(text, domain):
        assert canonical(name_in_zone(text, domain)) == canonical(text)


@given(whatever, domains)
def test_only_names_that_end_in_a_dot_can_lie_outside(text: str, domain: str):
    found = name_in_zone(text, domain)
    try:
        outside = not is_subdomain(canonical(found).removeprefix("*."), domain)
    except InvalidNameError:
        return
    assert not outside or text.endswith(".") or _is_no_name(f"{text}.{domain}")


def _errors(name: str, domain: str) -> list[object]:
    record = {"name": name, "type": "A", "content": "10.0.0.1", "ttl": 60}
    return [*record_errors(record, zone_domain=domain)]


def _is_no_name(text: str) -> bool:
    try:
        canonical(text)
    except InvalidNameError:
        return True
    return False
