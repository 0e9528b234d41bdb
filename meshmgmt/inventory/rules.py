"""Rules of peers: pure; what other peers have comes in as `Taken`."""

import base64
import binascii
import ipaddress
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from meshmgmt.core.errors import FieldError
from meshmgmt.core.textrules import not_found
from meshmgmt.inventory.addresses import is_for_peers
from meshmgmt.inventory.labels import is_extra_label

LOCAL_FLAGS: Final = (
    "rosenpass_enabled",
    "rosenpass_permissive",
    "server_ssh_allowed",
    "disable_client_routes",
    "disable_server_routes",
    "disable_dns",
    "disable_firewall",
    "block_lan_access",
    "block_inbound",
    "lazy_connection_enabled",
)
"""What a peer's owner decided on the machine itself, in the order of the API."""

DISABLE_IPV6: Final = "disable_ipv6"

STORED_FLAGS: Final = (*LOCAL_FLAGS, DISABLE_IPV6)
"""All that is kept; the API does not show the last one."""


KEY_BYTES: Final = 32  # a Curve25519 public key
# As the columns are: SQLite takes longer texts, PostgreSQL answers them with an error.
MAX_TEXT: Final = {
    "name": 255,
    "hostname": 255,
    "os": 255,
    "kernel_version": 255,
    "version": 64,
    "ui_version": 64,
    "serial_number": 255,
    "disapproval_reason": 255,
    "country_code": 2,
    "city_name": 128,
}
MAX_GEONAME: Final = 2**31 - 1  # what PostgreSQL holds in the column

UNIQUE: Final = {
    "wg_public_key": "WireGuard public key",
    # Before "ip", which is the beginning of its name.
    "ipv6": "IPv6 address",
    "ip": "IPv4 address",
    "dns_label": "DNS label",
}
"""The columns of which no two peers have the same, as people call them."""
_FAMILIES: Final[Mapping[str, type[ipaddress.IPv4Address | ipaddress.IPv6Address]]] = {
    "ip": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
}

Values = Mapping[str, Any]
"""Columns of a peer that are to be set, by name; addresses as text."""


class Holders(Protocol):
    """Who has which value of a unique column."""

    def get(self, value: str, default: str, /) -> str:
        """Return the id of the peer that has `value`, else `default`."""


@dataclass(slots=True)
class Taken:
    """What exists already, and where free IPv4 addresses come from.

    `holders` has an entry for each of the `UNIQUE` columns, `ranges` the networks that
    addresses are in, "" for any; `free_ip` raises InvalidArgument when there is none.
    """

    holders: Mapping[str, Holders]
    users: Container[str]
    free_ip: Callable[[], str]
    ranges: Mapping[str, str]

    def by_another(self, column: str, value: str, peer_id: str) -> bool:
        """Tell whether another peer has a value."""
        return self.holders[column].get(value, peer_id) != peer_id


def canonical_ip(text: str) -> str:
    """Return an address in canonical form, other text unchanged."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def peer_errors(values: Values, taken: Taken, peer_id: str) -> list[FieldError]:
    """Return what is wrong with the given columns; those not given are not looked at."""
    return [
        *_text_errors(values),
        *_key_errors(values, taken, peer_id),
        *_address_errors(values, taken, peer_id),
        *_label_errors(values),
        *_other_errors(values, taken),
    ]


def _text_errors(values: Values) -> Iterator[FieldError]:
    for name, limit in MAX_TEXT.items():
        text = values.get(name, "")
        if len(text) > limit:
            yield FieldError(name, f"{name} must have at most {limit} characters")
        elif "\0" in text:
            yield FieldError(name, f"{name} must not contain NUL")
    if "name" in values and not values["name"].strip():
        yield FieldError("name", "name must not be empty or blank")


def _key_errors(values: Values, taken: Taken, peer_id: str) -> Iterator[FieldError]:
    if "wg_public_key" not in values:
        return
    key = values["wg_public_key"]
    try:
        key_bytes(key)
    except ValueError:
        message = "wg_public_key must be the base64 text of 32 bytes"
        yield FieldError("wg_public_key", message)
        return
    if taken.by_another("wg_public_key", key, peer_id):
        message = "another peer has this WireGuard public key"
        yield FieldError("wg_public_key", message, conflict=True)


def key_bytes(key: str) -> bytes:
    """Return the bytes of a public key. Raises ValueError for what is none."""
    try:
        raw = base64.b64decode(key, validate=True)
    except binascii.Error as error:
        raise ValueError("the public key is not base64") from error
    # 32 bytes leave two bits of the last digit open, so several texts decode to one key:
    # only one of them is taken, or a second spelling would pass for another peer.
    if len(raw) != KEY_BYTES or base64.b64encode(raw).decode() != key:
        raise ValueError("the public key is not 32 bytes in base64")
    return raw


def _address_errors(values: Values, taken: Taken, peer_id: str) -> Iterator[FieldError]:
    if "ip" in values:
        yield from _faults_of("ip", values["ip"], taken, peer_id)
    if values.get("ipv6"):  # an empty one is none
        yield from _faults_of("ipv6", values["ipv6"], taken, peer_id)


def _faults_of(
    column: str, text: str, taken: Taken, peer_id: str
) -> Iterator[FieldError]:
    """Yield what is wrong with an address, which a range if there is one has in it."""
    try:
        address = _FAMILIES[column](text)
    except ValueError:
        yield FieldError(column, f"{text[:64]!r} is not an {UNIQUE[column]}")
        return
    if "%" in text:
        yield FieldError(column, "an address of a peer has no zone")
        return
    within = taken.ranges[column]
    network = ipaddress.ip_network(within) if within else None
    if network is not None and address not in network:
        message = f"{address} is not within the account's network range {network}"
        yield FieldError(column, message)
    elif network is not None and not is_for_peers(address, network):
        yield FieldError(column, f"{address} cannot be the address of a peer")
    elif taken.by_another(column, str(address), peer_id):
        message = f"another peer has the address {address}"
        yield FieldError(column, message, conflict=True)


def _label_errors(values: Values) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, label in enumerate(values.get("extra_dns_labels", ())):
        name = f"extra_dns_labels[{index}]"
        if not is_extra_label(label):
            message = f"{label[:64]!r} is not a DNS label in lower case"
            yield FieldError(name, message)
        elif label in seen:
            yield FieldError(name, f"the label {label!r} is given twice")
        seen.add(label)


def _other_errors(values: Values, taken: Taken) -> Iterator[FieldError]:
    user_id = values.get("user_id")
    if user_id is not None and user_id not in taken.users:
        yield FieldError("user", not_found("user", user_id))
    for flag in values.get("local_flags", {}):
        if flag not in STORED_FLAGS:
            message = f"{flag[:64]!r} is not one of {', '.join(STORED_FLAGS)}"
            yield FieldError(f"local_flags.{flag[:64]}", message)
    if values.get("connection_ip"):
        try:
            ipaddress.ip_address(values["connection_ip"])
        except ValueError:
            yield FieldError("connection_ip", "connection_ip must be an IP address")
        else:
            if "%" in values["connection_ip"]:
                yield FieldError("connection_ip", "connection_ip must have no zone")
    if not 0 <= values.get("geoname_id", 0) <= MAX_GEONAME:
        yield FieldError("geoname_id", f"geoname_id must be from 0 to {MAX_GEONAME}")
