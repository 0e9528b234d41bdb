"""Rules of posture checks (reference API 13.5): pure.

`checks` is the JSON object of a request, its types checked: kind of check to settings.
"""

import ipaddress
import re
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, Final

from meshmgmt.core.errors import FieldError
from meshmgmt.core.textrules import length_errors, told_errors

ACTIONS: Final = ("allow", "deny")
SYSTEMS: Final = {
    "android": "min_version",
    "ios": "min_version",
    "darwin": "min_version",
    "linux": "min_kernel_version",
    "windows": "min_kernel_version",
}
"""Operating systems, with what is compared of each."""

PATHS: Final = ("linux_path", "mac_path", "windows_path")
MAX_PATH: Final = 1024

# What `mesh.versions` reads: with another text nobody would ever pass.
_VERSION: Final = re.compile(
    r"v?\d{1,9}(\.\d{1,9}){0,3}(-[0-9A-Za-z.-]{1,64})?(\+[0-9A-Za-z.-]{1,64})?",
    re.ASCII,
)


def posture_errors(
    posture: Mapping[str, Any], *, countries: Container[str], name_taken: bool
) -> Iterator[FieldError]:
    """Yield every broken rule; `countries` holds the codes that exist."""
    yield from told_errors(posture, what="posture check")
    if not posture["checks"]:
        yield FieldError("checks", "give at least one check")
    for kind, check in posture["checks"].items():
        for error in CHECKS[kind](check, countries):
            yield FieldError(f"checks.{kind}.{error.field}", error.message)
    if name_taken:
        yield FieldError("name", "another posture check has this name", conflict=True)


def canonical_checks(checks: Mapping[str, Any]) -> dict[str, Any]:
    """Return right checks with the host bits of their networks cleared."""
    kind = "peer_network_range_check"
    if kind not in checks:
        return dict(checks)
    ranges = [
        str(ipaddress.ip_network(text, strict=False)) for text in checks[kind]["ranges"]
    ]
    return {**checks, kind: {**checks[kind], "ranges": ranges}}


def _version_errors(field: str, text: str) -> Iterator[FieldError]:
    if not _VERSION.fullmatch(text):
        yield FieldError(field, f"{text[:40]!r} is no version such as 1.2.3")


def _client_errors(check: Any, countries: Container[str]) -> Iterator[FieldError]:
    yield from _version_errors("min_version", check["min_version"])


def _system_errors(check: Any, countries: Container[str]) -> Iterator[FieldError]:
    if not check:
        systems = ", ".join(SYSTEMS)
        yield FieldError(next(iter(SYSTEMS)), f"give at least one of {systems}")
    for system, asked in check.items():
        name = SYSTEMS[system]
        yield from _version_errors(f"{system}.{name}", asked[name])


def _action_errors(check: Any) -> Iterator[FieldError]:
    if check["action"] not in ACTIONS:
        shown = check["action"][:40]
        yield FieldError("action", f"{shown!r} is no action: use allow or deny")


def _place_errors(check: Any, countries: Container[str]) -> Iterator[FieldError]:
    yield from _action_errors(check)
    if not check["locations"]:
        yield FieldError("locations", "give at least one location")
    for index, location in enumerate(check["locations"]):
        place = f"locations[{index}]"
        code = location["country_code"]
        if code not in countries:
            text = f"{code[:40]!r} is no country code of ISO 3166-1"
            yield FieldError(f"{place}.country_code", text)
        city = location.get("city_name", "")
        yield from length_errors(f"{place}.city_name", city, what="name of the city")


def _range_errors(check: Any, countries: Container[str]) -> Iterator[FieldError]:
    yield from _action_errors(check)
    if not check["ranges"]:
        yield FieldError("ranges", "give at least one network")
    for index, text in enumerate(check["ranges"]):
        if not _is_network(text):
            message = f"{text[:40]!r} is no network such as 10.1.0.0/16"
            yield FieldError(f"ranges[{index}]", message)


def _is_network(text: str) -> bool:
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return "%" not in text  # a zone has a meaning on one host alone: RFC 4007


def _process_errors(check: Any, countries: Container[str]) -> Iterator[FieldError]:
    if not check["processes"]:
        yield FieldError("processes", "give at least one process")
    for index, process in enumerate(check["processes"]):
        place = f"processes[{index}]"
        if not any(process.get(path) for path in PATHS):
            yield FieldError(place, f"give at least one of {', '.join(PATHS)}")
        for path in PATHS:
            text = process.get(path, "")
            yield from length_errors(
                f"{place}.{path}", text, what="path", maximum=MAX_PATH
            )


_Rule = Callable[[Any, Container[str]], Iterator[FieldError]]

CHECKS: Final[Mapping[str, _Rule]] = {
    "nb_version_check": _client_errors,
    "os_version_check": _system_errors,
    "geo_location_check": _place_errors,
    "peer_network_range_check": _range_errors,
    "process_check": _process_errors,
}
