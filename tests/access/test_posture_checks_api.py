"""Posture checks over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api_client import Api
from tests.resource_contract import (
    TAKEN,
    Body,
    Fault,
    ResourceContract,
    Trail,
    ok,
)

PATH = "/api/posture-checks"

CHECKS: Body = {
    "nb_version_check": {"min_version": "0.30.1-rc.1"},
    "os_version_check": {
        "android": {"min_version": "13"},
        "ios": {"min_version": "17.1"},
        "darwin": {"min_version": "14.2.1"},
        "linux": {"min_kernel_version": "5.10"},
        "windows": {"min_kernel_version": "10.0.22631"},
    },
    "geo_location_check": {
        "locations": [
            {"country_code": "DE", "city_name": "Köln"},
            {"country_code": "FR"},
        ],
        "action": "allow",
    },
    "peer_network_range_check": {
        "ranges": ["192.168.1.0/24", "fd00::/8"],
        "action": "deny",
    },
    "process_check": {
        "processes": [{"linux_path": "/usr/bin/av"}, {"windows_path": "C:\\av.exe"}]
    },
}


class TestPostureChecks(ResourceContract):
    path = PATH
    required = ("name", "checks")
    created_codes = ("posture.check.create",)
    deleted_codes = ("posture.check.delete",)

    def body(self, number: int = 1) -> Body:
        return {"name": f"check {number}", "description": "", "checks": CHECKS}

    def refused(self) -> Iterator[Fault]:
        yield {"name": ""}, 422, "name", "the posture check name must not be empty or"
        taken = "another posture check has this name"
        yield {"name": f"check {TAKEN}"}, 409, "name", taken
        yield {"name": "n" * 256}, 422, "name", "has more than 255 characters"
        yield {"description": "d" * 1001}, 422, "description", "more than 1000"
        for checks, field, message in BROKEN:
            yield {"checks": checks}, 422, f"checks.{field}".rstrip("."), message


def check(**changes: Any) -> Body:
    return {"name": "c", "checks": {"nb_version_check": {"min_version": "1"}}} | changes


def test_checks_are_replaced_as_a_whole(api: Api) -> None:
    made = ok(api.post(PATH, check(checks=CHECKS)))
    assert made["checks"] == CHECKS
    trail = Trail()
    only = {"process_check": {"processes": [{"mac_path": "/bin/av"}]}}
    changed = ok(api.put(f"{PATH}/{made['id']}", {"checks": only}))
    assert changed == made | {"checks": only}
    assert trail.targets == [("posture.check.update", made["id"])]
    assert trail.events[0].meta == {"name": "c"}


def test_null_check_is_no_check(api: Api) -> None:
    checks = {"process_check": None, **check()["checks"]}
    made = ok(api.post(PATH, check(checks=checks)))
    assert made["checks"] == check()["checks"]


def _place(**changes: Any) -> Body:
    location = {"country_code": "DE"}
    return {
        "geo_location_check": {"locations": [location], "action": "allow"} | changes
    }


def _ranges(*ranges: str, action: str = "deny") -> Body:
    return {"peer_network_range_check": {"ranges": list(ranges), "action": action}}


BROKEN: list[tuple[Body, str, str]] = [
    ({}, "", "give at least one check"),
    ({"other_check": {}}, "", "give at least one check"),
    (
        {"nb_version_check": {"min_version": "new"}},
        "nb_version_check.min_version",
        "'new' is no version such as 1.2.3",
    ),
    (
        {"nb_version_check": {"min_version": "1.2+a+b"}},
        "nb_version_check.min_version",
        "'1.2+a+b' is no version such as 1.2.3",
    ),
    (
        {"os_version_check": {}},
        "os_version_check.android",
        "give at least one of android, ios, darwin, linux, windows",
    ),
    (
        {"os_version_check": {"linux": {"min_kernel_version": ""}}},
        "os_version_check.linux.min_kernel_version",
        "'' is no version such as 1.2.3",
    ),
    (
        _place(locations=[]),
        "geo_location_check.locations",
        "give at least one location",
    ),
    (
        _place(action="drop"),
        "geo_location_check.action",
        "'drop' is no action: use allow or deny",
    ),
    (
        _place(locations=[{"country_code": "XX"}]),
        "geo_location_check.locations[0].country_code",
        "'XX' is no country code of ISO 3166-1",
    ),
    (
        _place(locations=[{"country_code": "DE", "city_name": "x" * 256}]),
        "geo_location_check.locations[0].city_name",
        "the name of the city has more than 255 characters",
    ),
    (_ranges(), "peer_network_range_check.ranges", "give at least one network"),
    (
        _ranges("10.0.0.1/33"),
        "peer_network_range_check.ranges[0]",
        "'10.0.0.1/33' is no network such as 10.1.0.0/16",
    ),
    (
        _ranges("fe80::%eth0/64"),
        "peer_network_range_check.ranges[0]",
        "'fe80::%eth0/64' is no network such as 10.1.0.0/16",
    ),
    (
        _ranges("10.0.0.0/8", action=""),
        "peer_network_range_check.action",
        "'' is no action: use allow or deny",
    ),
    (
        {"process_check": {"processes": []}},
        "process_check.processes",
        "give at least one process",
    ),
    (
        {"process_check": {"processes": [{"linux_path": ""}]}},
        "process_check.processes[0]",
        "give at least one of linux_path, mac_path, windows_path",
    ),
    (
        {"process_check": {"processes": [{"mac_path": "x" * 1025}]}},
        "process_check.processes[0].mac_path",
        "the path has more than 1024 characters",
    ),
]


def test_host_bits_of_ranges_are_masked(api: Api) -> None:
    sent = _ranges("10.0.0.1/8", "192.168.1.7", "fd00::1/64")
    made = ok(api.post(PATH, check(checks=sent)))
    masked = _ranges("10.0.0.0/8", "192.168.1.7/32", "fd00::/64")
    assert made["checks"] == masked
    assert ok(api.get(f"{PATH}/{made['id']}"))["checks"] == masked


@pytest.mark.parametrize("body", [{"name": "c"}, {"name": "c", "checks": None}])
def test_missing_object_is_named_in_our_own_words(api: Api, body: Body) -> None:
    answer = api.post(PATH, body)

    assert answer.status == 422
    assert answer.fields == {"checks": "checks: this object is required"}
