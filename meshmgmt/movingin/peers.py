"""Peers of another service, as columns of ours: pure."""

import datetime as dt
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Final

from meshmgmt.movingin.references import Row

_TAKEN_OVER: Final = (
    "name",
    "ip",
    "ipv6",
    "hostname",
    "os",
    "kernel_version",
    "version",
    "ui_version",
    "serial_number",
    "connection_ip",
    "country_code",
    "city_name",
    "geoname_id",
    "ssh_enabled",
    "login_expiration_enabled",
    "inactivity_expiration_enabled",
    "login_expired",
    "approval_required",
    "disapproval_reason",
    "ephemeral",
)
_TIMES: Final = ("last_seen", "last_login", "created_at")
# The last is the reference's word for a `connection_ip` that it does not know.
_UNKNOWN: Final = ("", None, "<nil>")
_NEVER: Final = "0001-01-01T00:00:00Z"


def public_keys(lines: Iterable[str]) -> dict[str, str]:
    """Return public keys by address, from lines `KEY ADDRESS...`.

    Addresses may have a prefix length, as `wg show INTERFACE allowed-ips` prints them.
    Raises ValueError naming the first line that is none.
    """
    keys: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        key, *addresses = line.split() or [""]
        try:
            for address in addresses:
                if address != "(none)":
                    keys[str(ipaddress.ip_interface(address).ip)] = key
        except ValueError as error:
            raise ValueError(f"line {number} is not KEY ADDRESS: {error}") from error
    return keys


def peer_columns(row: Row, keys: Mapping[str, str]) -> Row:
    """Return the columns of a new peer; `wg_public_key` is "" when nobody knows it."""
    columns = {name: row[name] for name in _TAKEN_OVER if row.get(name) not in _UNKNOWN}
    for name in _TIMES:
        moment = dt.datetime.fromisoformat(row.get(name) or _NEVER)
        # Go sends its zero time for never.
        if moment.year > 1:
            columns[name] = moment
    columns["wg_public_key"] = keys.get(row["ip"], "")
    columns["local_flags"] = row.get("local_flags") or {}
    labels = row.get("extra_dns_labels") or []
    columns["extra_dns_labels"] = [first_label(label) for label in labels]
    return columns


def default_domain(peers: Iterable[Row]) -> str:
    """Return the domain that the names of peers are in, "" without peers."""
    return next(
        (row["dns_label"].partition(".")[2] for row in peers if row.get("dns_label")),
        "",
    )


def first_label(name: str) -> str:
    """Return the part of a full name that is before the peers' domain."""
    return name.split(".", maxsplit=1)[0]
