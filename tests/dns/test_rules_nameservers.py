"""Rules of nameserver groups."""

from dataclasses import replace

import pytest

from dns.rules.nameservers import (
    NameserverDraft,
    NameserverGroupDraft,
    nameserver_group_errors,
)
from dns.rules.zones import dns_settings_errors
from meshmgmt.core.fielderrors import FieldError

GOOD = NameserverGroupDraft(
    name="office",
    nameservers=[NameserverDraft("10.0.0.53")],
    groups=["g1"],
    primary=False,
    domains=["company.com"],
    search_domains_enabled=True,
)
PRIMARY = replace(GOOD, primary=True, domains=[], search_domains_enabled=False)


def errors(
    draft: NameserverGroupDraft, *, name_taken: bool = False
) -> list[FieldError]:
    return nameserver_group_errors(
        draft, known_groups={"g1", "g2"}, name_taken=name_taken
    )


@pytest.mark.parametrize(
    "draft",
    [
        GOOD,
        PRIMARY,
        replace(GOOD, groups=[]),
        replace(GOOD, groups=["g2", "g1", "g1"]),
        replace(GOOD, nameservers=[NameserverDraft("1.1.1.1", "UDP", 65535)] * 3),
        replace(GOOD, name="日" * 40),
        replace(GOOD, name=" "),
        replace(GOOD, domains=["Company.COM.", "münchen.de", "company.com"]),
        replace(GOOD, search_domains_enabled=False),
    ],
)
def test_good_groups_pass(draft: NameserverGroupDraft) -> None:
    assert errors(draft) == []


@pytest.mark.parametrize(
    ("draft", "field", "words"),
    [
        (replace(GOOD, domains=[]), "domains", "at least one match domain"),
        (
            replace(GOOD, primary=True, search_domains_enabled=False),
            "domains",
            "must not list any",
        ),
        (
            replace(PRIMARY, search_domains_enabled=True),
            "search_domains_enabled",
            "no match domains",
        ),
        (
            replace(GOOD, domains=["ok.com", "*.company.com"]),
            "domains[1]",
            "wildcards are not allowed",
        ),
        (replace(GOOD, domains=["x" * 256]), "domains[0]", "255 characters"),
        (replace(GOOD, nameservers=[]), "nameservers", "1 to 3 nameservers, not 0"),
        (
            replace(GOOD, nameservers=[NameserverDraft("1.1.1.1")] * 4),
            "nameservers",
            "not 4",
        ),
        (
            replace(GOOD, nameservers=[NameserverDraft("8.8.8.8", "udp", 70000)]),
            "nameservers[0].port",
            "between 1 and 65535",
        ),
        (
            replace(GOOD, nameservers=[NameserverDraft("8.8.8.8", "udp", 0)]),
            "nameservers[0].port",
            "between 1 and 65535",
        ),
        (
            replace(GOOD, nameservers=[NameserverDraft("8.8.8.8", "tcp")]),
            "nameservers[0].ns_type",
            "udp",
        ),
        (
            replace(
                GOOD,
                nameservers=[NameserverDraft("8.8.8.8"), NameserverDraft("ns.example")],
            ),
            "nameservers[1].ip",
            "not an IPv4 or IPv6",
        ),
        (replace(GOOD, name=""), "name", "1 to 40"),
        (replace(GOOD, name="x" * 41), "name", "1 to 40"),
        (replace(GOOD, groups=["g1", ""]), "groups[1]", "'' was not found"),
        (replace(GOOD, groups=["g1", "nope"]), "groups[1]", "'nope' was not found"),
    ],
)
def test_each_broken_rule_is_one_error_with_its_field(
    draft: NameserverGroupDraft, field: str, words: str
) -> None:
    [error] = errors(draft)
    assert error.field == field
    assert words in error.message
    assert not error.conflict


def test_a_taken_name_is_a_conflict() -> None:
    [error] = errors(GOOD, name_taken=True)
    assert error.field == "name"
    assert error.conflict


def test_errors_come_in_the_order_of_the_contract() -> None:
    draft = NameserverGroupDraft(
        name="",
        nameservers=[NameserverDraft("bad", "tcp", 0)] * 4,
        groups=["", "nope"],
        primary=True,
        domains=["*.a"],
        search_domains_enabled=True,
    )
    per_server = ("ip", "ns_type", "port")
    assert [error.field for error in errors(draft)] == [
        *[f"nameservers[{i}].{part}" for i in range(4) for part in per_server],
        "domains",
        "search_domains_enabled",
        "domains[0]",
        "nameservers",
        "name",
        "groups[0]",
        "groups[1]",
    ]


def test_dns_settings_name_the_unknown_group() -> None:
    assert dns_settings_errors(["g1"], known_groups={"g1"}) == []
    assert dns_settings_errors([], known_groups=set()) == []
    [error] = dns_settings_errors(["g1", "g9"], known_groups={"g1"})
    assert error.field == "disabled_management_groups[1]"
    assert "'g9' was not found" in error.message
