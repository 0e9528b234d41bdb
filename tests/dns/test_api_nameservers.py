"""Nameserver groups over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api_client import Api
from tests.dns.bodies import created, nameserver_group, trail
from tests.factories import group_id
from tests.resource_contract import Body, Fault, ReplacedResourceContract

pytestmark = pytest.mark.django_db
PATH = "/api/dns/nameservers"


SERVER: dict[str, Any] = {"ip": "10.0.0.53", "ns_type": "udp", "port": 53}


def servers(**changes: Any) -> dict[str, Any]:
    """Return a change of the body to one server that differs from `SERVER`."""
    return {"nameservers": [SERVER | changes]}


BROKEN: list[tuple[Body, str, str]] = [
    (servers(ip="dns.test"), "nameservers[0].ip", "not an IPv4"),
    (
        {"nameservers": [SERVER, {**SERVER, "ip": "0.0.0.0"}]},
        "nameservers[1].ip",
        "unspecified",
    ),
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

    def refused(self) -> Iterator[Fault]:
        for changes, field, text in BROKEN:
            yield changes, 422, field, text
        for changes, field in MISTYPED:
            yield changes, 400, field, ""


def test_created_group_is_returned_as_it_will_be_read(owner: Api) -> None:
    groups = [group_id(name) for name in ("b", "a")]
    body = nameserver_group(
        groups=groups,
        nameservers=[
            {"ip": "2001:DB8::0:1", "ns_type": "UDP", "port": 5353},
            {"ip": "9.9.9.9"},
        ],
        domains=["Corp.Test.", "münchen.de"],
        search_domains_enabled=True,
    )
    made = created(owner.post(PATH, body))
    assert made == {
        **body,
        "id": made["id"],
        "nameservers": [
            {"ip": "2001:db8::1", "ns_type": "udp", "port": 5353},
            {"ip": "9.9.9.9", "ns_type": "udp", "port": 53},
        ],
    }


def test_null_lists_and_texts_are_empty(owner: Api) -> None:
    body = nameserver_group(primary=True, domains=None, groups=None, description=None)
    made = created(owner.post(PATH, body))
    assert made == body | {
        "id": made["id"],
        "domains": [],
        "groups": [],
        "description": "",
    }


def test_forty_characters_count_code_points(owner: Api) -> None:
    assert owner.post(PATH, nameserver_group(name="é" * 40)).status == 200


def test_all_broken_rules_are_listed_in_their_order(owner: Api) -> None:
    answer = owner.post(
        PATH, nameserver_group(name="", domains=["*.x"], nameservers=[], groups=[""])
    )
    assert list(answer.fields) == ["domains[0]", "nameservers", "name", "groups[0]"]
    assert answer.json["message"] == answer.fields["domains[0]"]


def test_repeated_nameservers_are_kept(owner: Api) -> None:
    made = created(owner.post(PATH, nameserver_group(nameservers=[SERVER] * 3)))
    assert made["nameservers"] == [SERVER] * 3


def test_name_is_unique_case_sensitively(owner: Api) -> None:
    first = created(owner.post(PATH, nameserver_group(name="One")))
    answer = owner.post(PATH, nameserver_group(name="One"))
    assert answer.status == 409
    assert "already exists" in answer.fields["name"]
    second = created(owner.post(PATH, nameserver_group(name="one")))
    path = f"{PATH}/{second['id']}"
    assert owner.put(path, nameserver_group(name="One")).status == 409
    assert owner.put(path, nameserver_group(name="one")).status == 200
    assert owner.get(PATH).json == [first, second]


def test_broken_rule_comes_before_the_name_clash(owner: Api) -> None:
    created(owner.post(PATH, nameserver_group()))
    answer = owner.post(PATH, nameserver_group(nameservers=[]))
    assert answer.status == 422
    assert list(answer.fields) == ["nameservers"]


def test_put_replaces_everything(owner: Api) -> None:
    groups = [group_id(name) for name in ("a", "b", "c")]
    made = created(owner.post(PATH, nameserver_group(groups=groups[:2])))
    body = nameserver_group(
        name="other",
        description="",
        enabled=False,
        primary=True,
        domains=[],
        groups=[groups[2], groups[0]],
        nameservers=[{"ip": "1.1.1.1"}],
    )
    answer = created(owner.put(f"{PATH}/{made['id']}", body))
    servers = [{"ip": "1.1.1.1", "ns_type": "udp", "port": 53}]
    assert answer == {**body, "id": made["id"], "nameservers": servers}


def test_fields_that_are_not_ours_are_ignored(owner: Api) -> None:
    made = created(owner.post(PATH, nameserver_group()))
    again = created(owner.put(f"{PATH}/{made['id']}", {**made, "x": 1, "id": "other"}))
    assert again == made


def test_each_write_is_one_event(owner: Api) -> None:
    groups = [group_id(name) for name in ("a", "b")]
    made = created(owner.post(PATH, nameserver_group(groups=groups)))
    path = f"{PATH}/{made['id']}"
    created(owner.put(path, nameserver_group(groups=groups)))  # changes nothing
    created(owner.put(path, nameserver_group(name="new", groups=groups)))
    created(owner.put(path, nameserver_group(name="new", groups=groups[::-1])))
    created(owner.put(path, nameserver_group(name="new", groups=[groups[0]])))
    created(owner.delete(path))
    events = trail(owner, "nameserver")
    assert [(e["activity_code"], e["meta"]) for e in events] == [
        ("nameserver.group.add", {"name": "office"}),
        ("nameserver.group.update", {"name": "new"}),
        ("nameserver.group.update", {"name": "new"}),
        ("nameserver.group.update", {"name": "new"}),
        ("nameserver.group.delete", {"name": "new"}),
    ]
    assert {event["target_id"] for event in events} == {made["id"]}
