"""Nameserver groups over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api_client import Api
from tests.dns.bodies import nameserver_group
from tests.factories import group_id
from tests.resource_contract import (
    ABSENT,
    TAKEN,
    Answered,
    Body,
    Change,
    Fault,
    ReplacedResourceContract,
    ok,
)

pytestmark = pytest.mark.django_db
PATH = "/api/dns/nameservers"


SERVER: dict[str, Any] = nameserver_group()["nameservers"][0]


def servers(**changes: Any) -> dict[str, Any]:
    """Return a change of the body to one server that differs from `SERVER`."""
    return {"nameservers": [SERVER | changes]}


BROKEN: list[tuple[Body, str, str]] = [
    (servers(ip="dns.test"), "nameservers[0].ip", "not an IPv4"),
    ({"nameservers": [SERVER, {"ip": "0.0.0.0"}]}, "nameservers[1].ip", "unspecified"),
    (servers(ip="224.0.0.1"), "nameservers[0].ip", "multicast"),
    (servers(ip="255.255.255.255"), "nameservers[0].ip", "broadcast"),
    (servers(ns_type="tcp"), "nameservers[0].ns_type", "udp"),
    (servers(port=0), "nameservers[0].port", "65535"),
    (servers(port=65536), "nameservers[0].port", "65535"),
    ({"domains": []}, "domains", "at least one match domain"),
    ({"primary": True}, "domains", "must not list any"),
    (
        {"primary": True, "domains": [], "search_domains_enabled": True},
        "search_domains_enabled",
        "no match domains",
    ),
    ({"domains": ["ok.test", "*.corp.test"]}, "domains[1]", "wildcards"),
    ({"domains": [""]}, "domains[0]", "empty"),
    ({"domains": ["a" * 256]}, "domains[0]", "255"),
    ({"domains": ["-a.test"]}, "domains[0]", "wrong character"),
    ({"nameservers": []}, "nameservers", "1 to 3"),
    ({"nameservers": [SERVER] * 4}, "nameservers", "1 to 3"),
    ({"name": ""}, "name", "1 to 40"),
    ({"name": "é" * 41}, "name", "1 to 40"),
    ({"groups": [""]}, "groups[0]", "not found"),
    ({"groups": ["0" * 20]}, "groups[0]", "not found"),
    ({"groups": ["\u00e9'"]}, "groups[0]", "not found"),
    ({"description": "a\u0000b"}, "description", ""),
]
TAKEN_OVER: list[Answered] = [
    ({"primary": True, "domains": []}, {}),
    ({"name": "日" * 40}, {}),
    ({"name": " "}, {}),
    ({"nameservers": [SERVER] * 3}, {}),
    (servers(port=65535), {}),
    ({"domains": ["Company.COM.", "münchen.de", "company.com"]}, {}),
    ({"search_domains_enabled": True}, {}),
    (servers(ip="2001:DB8::0:1", ns_type="UDP"), servers(ip="2001:db8::1")),
    ({"nameservers": [{"ip": "9.9.9.9"}]}, servers(ip="9.9.9.9")),
    (
        {"primary": True, "domains": None, "groups": None, "description": None},
        {"domains": [], "groups": [], "description": ""},
    ),
]
MISTYPED: list[tuple[Body, str]] = [
    ({"name": 1}, "name"),
    ({"enabled": 1}, "enabled"),
    ({"primary": "true"}, "primary"),
    ({"groups": "x"}, "groups"),
    ({"domains": [1]}, "domains[0]"),
    ({"nameservers": {}}, "nameservers"),
    ({"nameservers": ["10.0.0.1"]}, "nameservers[0]"),
    ({"nameservers": [{"ip": "10.0.0.1", "port": "53"}]}, "nameservers[0].port"),
    ({"nameservers": [{"ip": "10.0.0.1", "port": 53.0}]}, "nameservers[0].port"),
    ({"nameservers": [{"ip": 10}]}, "nameservers[0].ip"),
]


class TestNameserverGroups(ReplacedResourceContract):
    path = PATH
    required = tuple(nameserver_group())
    created_codes = ("nameserver.group.add",)
    deleted_codes = ("nameserver.group.delete",)
    most_queries = 3

    def body(self, number: int = 1) -> Body:
        return nameserver_group(name=f"office {number}")

    def answered(self) -> Iterator[Answered]:
        for changes, beside in TAKEN_OVER:
            yield nameserver_group(**changes), beside
        groups = [group_id(name) for name in ("b", "a")]
        yield nameserver_group(groups=groups), {}

    def told(self, made: Body) -> dict[str, Body]:
        name = {"name": "office 1"}
        return {"nameserver.group.add": name, "nameserver.group.delete": name}

    def changes(self, made: Body) -> Iterator[Change]:
        groups = [group_id(name) for name in ("a", "b")]
        told = {"nameserver.group.update": {"name": "new"}}
        whole = {"name": "new", "description": "", "enabled": False, "primary": True}
        whole |= servers(ip="1.1.1.1") | {"domains": [], "groups": groups}
        yield whole, {}, told
        yield whole | {"groups": groups[::-1]}, {}, told
        yield whole | {"groups": groups[:1]}, {}, told
        others = {"x": 1, "id": "other"}
        yield whole | {"groups": groups[:1]} | others, dict.fromkeys(others, ABSENT), []

    def refused(self) -> Iterator[Fault]:
        for changes, field, text in BROKEN:
            yield changes, 422, field, text
        for changes, field in MISTYPED:
            yield changes, 400, field, ""
        yield {"name": f"office {TAKEN}"}, 409, "name", "already exists"
        clash_too = {"name": f"office {TAKEN}", "nameservers": []}
        yield clash_too, 422, "nameservers", "1 to 3"


def test_all_broken_rules_are_listed_in_their_order(api: Api):
    bad = {"ip": "bad", "ns_type": "tcp", "port": 0}
    body = nameserver_group(name="", nameservers=[bad] * 4, groups=["", "nope"])
    body |= {"primary": True, "domains": ["*.x"], "search_domains_enabled": True}
    answer = api.post(PATH, body)
    assert list(answer.fields) == [
        *[f"nameservers[{i}].{part}" for i in range(4) for part in bad],
        *("domains", "search_domains_enabled", "domains[0]"),
        *("nameservers", "name", "groups[0]", "groups[1]"),
    ]
    assert answer.json["message"] == answer.fields["nameservers[0].ip"]


def test_names_differ_by_letter_case(api: Api):
    made = [ok(api.post(PATH, nameserver_group(name=n))) for n in ("One", "one")]
    assert api.get(PATH).json == made
