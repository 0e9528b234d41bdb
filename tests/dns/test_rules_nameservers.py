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


def errors(draft: NameserverGroupDraft) -> list[FieldError]:
    return nameserver_group_errors(draft, known_groups={"g1", "g2"}, name_taken=False)


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
