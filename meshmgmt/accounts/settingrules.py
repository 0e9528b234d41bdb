"""Rules on the account's settings, as pure functions to field errors."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from meshmgmt.core.errors import FieldError
from meshmgmt.core.names import InvalidNameError, parse_name

HOUR: Final = 3600
MAX_PERIOD: Final = 180 * 24 * HOUR  # as in the reference
MAX_TEXT: Final = 255
MAX_VERSION: Final = 50  # what the column holds
GROUP_LISTS: Final = (
    "peer_expose_groups",
    "ipv6_enabled_groups",
    "network_traffic_logs_groups",
)

DOMAINS: Final = ("dns_domain", "default_dns_domain")
RANGES: Final = ("network_range", "network_range_v6")
PRIVATE: Final = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),  # RFC 1918
        "100.64.0.0/10",  # RFC 6598
        "fc00::/7",  # RFC 4193
    )
)
"""Where peers may have addresses: nobody on the internet has one of these."""

_LONGEST_PREFIX: Final = {4: 28, 6: 120}
_VERSION: Final = re.compile(
    r"v?\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII
)


def settings_errors(values: Mapping[str, Any]) -> list[FieldError]:
    """Check the settings as they would be after a change; types are right already."""
    v6 = values["network_range_v6"]
    return [
        *_period("peer_login_expiration", values, HOUR, "one hour"),
        *_period("peer_inactivity_expiration", values, 60, "one minute"),
        *(error for name in DOMAINS for error in _domain(name, values[name])),
        *_range("network_range", values["network_range"], version=4),
        *(_range("network_range_v6", v6, version=6) if v6 else []),
        *_version(values["auto_update_version"]),
        *_exposure(values),
        *_texts(values),
    ]


def canonical_settings(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return right settings with domain and ranges in the form they are compared in."""
    ranges = {
        name: str(ipaddress.ip_network(values[name], strict=False))
        for name in RANGES
        if values[name]
    }
    domains = {name: parse_name(values[name]) for name in DOMAINS if values[name]}
    return {**values, **ranges, **domains}


def range_change_errors(name: str, text: str) -> list[FieldError]:
    """Check a new range, which is right in itself: peers take no public addresses."""
    if not text:
        return []
    network = ipaddress.ip_network(text)
    inside = [range_ for range_ in PRIVATE if range_.version == network.version]
    if any(network.subnet_of(range_) for range_ in inside):  # type: ignore[arg-type]
        return []
    known = ", ".join(str(range_) for range_ in inside)
    return [FieldError(name, f"{network} is not private: choose a range in {known}")]


def _period(
    name: str, values: Mapping[str, Any], least: int, least_text: str
) -> Iterator[FieldError]:
    what = name.replace("_", " ")
    if values[name] < least:
        yield FieldError(name, f"the {what} must be at least {least_text}")
    elif values[name] > MAX_PERIOD:
        yield FieldError(name, f"the {what} must be at most 180 days")


def _domain(name: str, text: str) -> Iterator[FieldError]:
    try:
        domain = parse_name(text) if text else ""  # the default is used
    except InvalidNameError as error:
        yield FieldError(name, f"the DNS domain is not valid: {error}")
    else:
        # This form is stored, and may have four times the letters that were sent.
        if len(domain) > MAX_TEXT:
            long = f"the DNS domain is longer than {MAX_TEXT} characters in ASCII"
            yield FieldError(name, long)


def _range(name: str, text: str, *, version: int) -> Iterator[FieldError]:
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        yield FieldError(name, f"{text[:60]!r} is not a network range")
        return
    most = _LONGEST_PREFIX[version]
    # As in fe80::1%eth0, which has a meaning on one host alone: RFC 4007.
    if "%" in text:
        yield FieldError(name, "a network range has no zone")
    elif network.version != version:
        yield FieldError(name, f"the network range must be IPv{version}")
    elif network.is_loopback or network.is_multicast or network.is_link_local:
        kinds = "loopback, multicast and link-local ranges"
        yield FieldError(name, f"{kinds} cannot be used")
    elif network.prefixlen > most:
        small = f"the network range is too small: use /{most} or less"
        yield FieldError(name, small)


def _version(text: str) -> Iterator[FieldError]:
    what = ""
    if len(text) > MAX_VERSION:
        what = f"a version has at most {MAX_VERSION} characters"
    elif text not in {"", "latest", "disabled"} and not _VERSION.fullmatch(text):
        what = f"{text[:40]!r} is no version: use latest, disabled or one such as 1.2.3"
    if what:
        yield FieldError("auto_update_version", what)


def _exposure(values: Mapping[str, Any]) -> Iterator[FieldError]:
    if values["peer_expose_enabled"] and not values["peer_expose_groups"]:
        text = "exposing services from peers needs at least one group"
        yield FieldError("peer_expose_groups", text)


def _texts(values: Mapping[str, Any]) -> list[FieldError]:
    texts = [("jwt_groups_claim_name", values["jwt_groups_claim_name"])]
    texts += [("jwt_allow_groups", text) for text in values["jwt_allow_groups"]]
    return [
        FieldError(name, f"texts hold at most {MAX_TEXT} characters and no NUL")
        for name, text in texts
        if len(text) > MAX_TEXT or "\x00" in text
    ][:1]
