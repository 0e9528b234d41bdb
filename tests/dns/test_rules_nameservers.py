"""Rules of nameserver groups."""

from typing import Any

import pytest

from dns.rules.nameservers import Server, nameserver_group_errors
from dns.rules.zones import dns_settings_errors
from meshmgmt.core.fielderrors import FieldError

Values = dict[str, Any]


def server(ip: str, ns_type: str = "udp", port: int = 53) -> Server:
    return {"ip": ip, "ns_type": ns_type, "port": port}


GOOD = {
    "name": "office",
    "nameservers": [server("10.0.0.53")],
    "groups": ["g1"],
    "primary": False,
    "domains": ["company.com"],
    "search_domains_enabled": True,
}
PRIMARY = {"primary": True, "domains": [], "search_domains_enabled": False}


def errors(group: Values) -> list[FieldError]:
    return nameserver_group_errors(group, known_groups={"g1", "g2"}, name_taken=False)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        PRIMARY,
        {"groups": []},
        {"groups": ["g2", "g1", "g1"]},
        {"nameservers": [server("1.1.1.1", "UDP", 65535)] * 3},
        {"name": "日" * 40},
        {"name": " "},
        {"domains": ["Company.COM.", "münchen.de", "company.com"]},
        {"search_domains_enabled": False},
    ],
)
def test_good_groups_pass(changes: Values) -> None:
    assert errors({**GOOD, **changes}) == []


def test_errors_come_in_the_order_of_the_contract() -> None:
    group = {
        "name": "",
        "nameservers": [server("bad", "tcp", 0)] * 4,
        "groups": ["", "nope"],
        "primary": True,
        "domains": ["*.a"],
        "search_domains_enabled": True,
    }
    per_server = ("ip", "ns_type", "port")
    assert [error.field for error in errors(group)] == [
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
