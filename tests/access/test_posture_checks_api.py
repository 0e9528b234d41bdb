"""Posture checks over HTTP."""

from collections.abc import Iterator

import pytest

from tests.api_client import Api
from tests.resource_contract import (
    TAKEN,
    Answered,
    Body,
    Change,
    Fault,
    ResourceContract,
)


def ranges(*networks: str, action: str = "deny") -> Body:
    return {"ranges": list(networks), "action": action}


def places(*locations: Body, action: str = "allow") -> Body:
    return {"locations": list(locations), "action": action}


CHECKS: Body = {
    "nb_version_check": {"min_version": "0.30.1-rc.1"},
    "os_version_check": {
        "android": {"min_version": "13"},
        "ios": {"min_version": "17.1"},
        "darwin": {"min_version": "14.2.1"},
        "linux": {"min_kernel_version": "5.10"},
        "windows": {"min_kernel_version": "10.0.22631"},
    },
    "geo_location_check": places(
        {"country_code": "DE", "city_name": "Köln"}, {"country_code": "FR"}
    ),
    "peer_network_range_check": ranges("192.168.1.0/24", "fd00::/8"),
    "process_check": {
        "processes": [{"linux_path": "/usr/bin/av"}, {"windows_path": "C:\\av.exe"}]
    },
}
VERSION: Body = {"nb_version_check": {"min_version": "1"}}


def broken_checks() -> Iterator[tuple[str, Body, str, str]]:
    """Return the name of a check, the check, the field at fault and what is said."""
    text, name = "is no version such as 1.2.3", "nb_version_check"
    for version in ("new", "1.2+a+b"):
        bad = {"min_version": version}
        yield name, bad, ".min_version", f"'{version}' {text}"
    name, systems = "os_version_check", "android, ios, darwin, linux, windows"
    yield name, {}, ".android", f"give at least one of {systems}"
    kernel = {"linux": {"min_kernel_version": ""}}
    yield name, kernel, ".linux.min_kernel_version", f"'' {text}"
    name, germany = "geo_location_check", {"country_code": "DE"}
    yield name, places(), ".locations", "give at least one location"
    dropping = places(germany, action="drop")
    yield name, dropping, ".action", "'drop' is no action: use allow or deny"
    for field, value, text in (
        ("country_code", "XX", "'XX' is no country code of ISO 3166-1"),
        ("city_name", "x" * 256, "city has more than 255"),
    ):
        yield name, places(germany | {field: value}), f".locations[0].{field}", text
    name = "peer_network_range_check"
    yield name, ranges(), ".ranges", "give at least one network"
    for network in ("10.0.0.1/33", "fe80::%eth0/64"):
        text = f"'{network}' is no network such as 10.1.0.0/16"
        yield name, ranges(network), ".ranges[0]", text
    text = "'' is no action: use allow or deny"
    yield name, ranges("10.0.0.0/8", action=""), ".action", text
    name, paths = "process_check", "linux_path, mac_path, windows_path"
    for processes, field, text in (
        ([], "", "give at least one process"),
        ([{"linux_path": ""}], "[0]", f"give at least one of {paths}"),
        ([{"mac_path": "x" * 1025}], "[0].mac_path", "path has more than 1024"),
    ):
        yield name, {"processes": processes}, f".processes{field}", text


class TestPostureChecks(ResourceContract):
    path = "/api/posture-checks"
    required = ("name", "checks")
    created_codes = ("posture.check.create",)
    deleted_codes = ("posture.check.delete",)

    def body(self, number: int = 1) -> Body:
        return {"name": f"check {number}", "description": "", "checks": CHECKS}

    def answered(self) -> Iterator[Answered]:
        checks = {"process_check": None, **VERSION}
        yield self.body() | {"checks": checks}, {"checks": VERSION}
        name = "peer_network_range_check"
        sent = {name: ranges("10.0.0.1/8", "192.168.1.7", "fd00::1/64")}
        masked = {name: ranges("10.0.0.0/8", "192.168.1.7/32", "fd00::/64")}
        yield self.body() | {"checks": sent}, {"checks": masked}

    def changes(self, made: Body) -> Iterator[Change]:
        only = {"process_check": {"processes": [{"mac_path": "/bin/av"}]}}
        told = {"posture.check.update": {"name": "check 9"}}
        yield {"checks": only}, {}, told

    def refused(self) -> Iterator[Fault]:
        yield {"name": ""}, 422, "name", "the posture check name must not be empty or"
        taken = "another posture check has this name"
        yield {"name": f"check {TAKEN}"}, 409, "name", taken
        yield {"name": "n" * 256}, 422, "name", "has more than 255 characters"
        yield {"description": "d" * 1001}, 422, "description", "more than 1000"
        nothing: tuple[Body, ...] = ({}, {"other_check": {}})
        for checks in nothing:
            yield {"checks": checks}, 422, "checks", "give at least one check"
        for name, check, field, message in broken_checks():
            yield {"checks": {name: check}}, 422, f"checks.{name}{field}", message


@pytest.mark.parametrize("body", [{"name": "c"}, {"name": "c", "checks": None}])
def test_missing_object_is_named_in_our_own_words(api: Api, body: Body):
    answer = api.post(TestPostureChecks.path, body)

    assert answer.refused(422).fields == {"checks": "checks: this object is required"}
