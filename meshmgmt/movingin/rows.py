"""Rows of another service in our terms: ids exchanged for ours, peers as columns. Pure."""

import datetime as dt
import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, Final

from meshmgmt.core.errors import ServiceError

Row = dict[str, Any]
Ids = Mapping[tuple[str, str], str]
"""Our id by kind and id of the other service."""
Known = Mapping[tuple[str, str], str | None]
"""The same; None for what must not be named."""

GROUP_LISTS: Final = (
    *("groups", "peer_groups", "access_control_groups", "distribution_groups"),
    *("sources", "destinations", "auto_groups", "disabled_management_groups"),
    *("peer_expose_groups", "ipv6_enabled_groups", "network_traffic_logs_groups"),
)
_KINDS: Final = {
    **dict.fromkeys(GROUP_LISTS, "group"),
    "source_posture_checks": "posture check",
    "peer": "peer",
}
RESOURCES: Final = ("sourceResource", "destinationResource")
_ENDS: Final = ("source", "destination")
_END_KINDS: Final = {"resource": "network resource"}
"""Ends of access tests name their kind; an address or domain has no id."""
_RESOURCE_KINDS: Final = ("peer", "network resource")
"""What a rule may name; its `type` need not be right."""


class NotCopiedError(ServiceError):
    """A row names an object that has no copy here."""


class UnknownReferenceError(NotCopiedError):
    """It is known which; `kind` and `name` say it."""

    def __init__(self, kind: str, name: str) -> None:
        super().__init__(f"it names the {kind} {name}, which is not copied")
        self.kind = kind
        self.name = name


def translated(row: Row, ids: Known) -> Row:
    """Return a row with our ids in place of the other service's.

    Objects that stand for ids in answers (`{"id": ..., "name": ...}`) become plain ids.
    Raises NotCopiedError.
    """
    return {name: _value(name, value, ids) for name, value in row.items()}


def _value(name: str, value: Any, ids: Known) -> Any:
    if not value:
        return value
    if name == "rules":
        return [translated(rule, ids) for rule in value]
    if name == "authorized_groups":
        # The users are logins of machines, which have no ids.
        return {_ours("group", old, ids): users for old, users in value.items()}
    if name in RESOURCES and value.get("id"):
        said = "peer" if value.get("type") == "peer" else "network resource"
        kinds = (said, *_RESOURCE_KINDS)
        known = (kind for kind in kinds if (kind, str(value["id"])) in ids)
        return {**value, "id": _ours(next(known, said), value["id"], ids)}
    if name in _KINDS:
        one = not isinstance(value, list)
        ours = [
            _ours(_KINDS[name], entry, ids) for entry in ([value] if one else value)
        ]
        return ours[0] if one else ours
    return _end(value, ids) if name in _ENDS else value


def _end(value: Any, ids: Known) -> Any:
    if not value.get("id"):
        return value
    kind = _END_KINDS.get(value["kind"], value["kind"])
    return {**value, "id": _ours(kind, value["id"], ids)}


def _ours(kind: str, entry: Any, ids: Known) -> str:
    old = str(entry["id"] if isinstance(entry, dict) else entry)
    new = ids.get((kind, old))
    if new is None:
        raise UnknownReferenceError(kind, old)
    return new


_TAKEN_OVER: Final = (
    *(
        "name",
        "ip",
        "ipv6",
        "hostname",
        "os",
        "kernel_version",
        "version",
        "ui_version",
    ),
    *("serial_number", "connection_ip", "country_code", "city_name", "geoname_id"),
    *("ssh_enabled", "login_expiration_enabled", "inactivity_expiration_enabled"),
    *("login_expired", "approval_required", "disapproval_reason", "ephemeral"),
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
