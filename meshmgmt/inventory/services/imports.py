"""Peers from NDJSON: one object per line, told apart by their public key.

All or nothing: one faulty line and nothing is written. Importing the same file again
changes nothing. A column that a line does not give keeps its value, or its default for a
new peer; a new peer without `ip` gets a free address.
"""

import datetime as dt
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

import orjson

from events.audit.audited import audited_bulk_create
from meshmgmt.accounts.models import Account, User
from meshmgmt.accounts.rules import fold_email
from meshmgmt.core.errors import FieldError, PreconditionFailed
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory import contributions
from meshmgmt.inventory.models import SWITCHES, Peer
from meshmgmt.inventory.rules import MAX_TEXT
from meshmgmt.inventory.services.peers import KnownPeers, check_ipv6, peer_prepare

MAX_LINE: Final = 64 * 1024
MAX_FAULTS: Final = 100
SPOOLED: Final = 1024 * 1024
"""Bytes of a file that are kept in memory; the rest is kept on disk."""

_TEXT: Final = "a string"
_TRUTH: Final = "a boolean"
_NUMBER: Final = "a whole number"
_LABELS: Final = "an array of strings"
_FLAGS: Final = "an object of booleans"
_TIME: Final = "an RFC 3339 time"

FIELDS: Final = {
    **dict.fromkeys(("wg_public_key", "ip", "ipv6", "user", "connection_ip"), _TEXT),
    **dict.fromkeys(MAX_TEXT, _TEXT),
    **dict.fromkeys((*SWITCHES, "connected"), _TRUTH),
    **dict.fromkeys(("last_seen", "last_login", "created_at"), _TIME),
    "geoname_id": _NUMBER,
    "extra_dns_labels": _LABELS,
    "local_flags": _FLAGS,
}
"""What a line may hold, with the JSON type; `user` is an e-mail address or an id."""


_MAY_BE_NEVER: Final = ("last_seen", "last_login")
_NEVER: Final = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
"""The zero time of clients written in Go."""


@dataclass(frozen=True, slots=True)
class LineFault:
    """What is wrong with one line; `field` is empty when it is the whole line."""

    line: int
    field: str
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


class ImportFault(Exception):
    """The file cannot be imported; nothing was written."""

    def __init__(self, faults: list[LineFault]) -> None:
        super().__init__(f"{len(faults)} faulty lines")
        self.faults = faults


class _DryRunError(Exception):
    """Takes back what a dry run wrote."""


@dataclass(slots=True)
class ImportResult:
    """How many peers the import made, changed and found unchanged."""

    created: int = 0
    updated: int = 0
    unchanged: int = 0


class _Import:
    """A running import: what is stored, and what its lines make of it."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.groups_of = contributions.peer_groups.only(None)
        self.users: dict[str, str] = {}
        for pk, key in User.objects.values_list("pk", "email_key"):
            self.users[pk] = pk
            if key:
                self.users[key] = pk
        self.known = {peer.wg_public_key: peer for peer in Peer.objects.all()}
        known = self.known.values()
        self.peers = KnownPeers(account, known, self.users, in_order=True)
        self.lines: dict[str, int] = {}
        self.new: list[Peer] = []
        self.changed: list[tuple[Peer, list[str]]] = []
        self.unchanged = 0


def peers_import(
    lines: Iterable[bytes],
    *,
    dry_run: bool = False,
    watched: Callable[[Iterable[bytes]], Iterable[bytes]] = iter,
) -> ImportResult:
    """Create and update peers from NDJSON lines; blank lines are skipped.

    `watched` wraps the lines (a progress bar). Raises ImportFault with every fault
    found, at most MAX_FAULTS of them, and none behind a line that is too long.
    """
    with suppress(_DryRunError), _arrived(lines) as kept, account_write():
        state = _Import(Account.objects.first() or Account())
        faults: list[LineFault] = []
        for number, line in enumerate(watched(kept), 1):
            faults += _take(state, number, line)
            if len(faults) >= MAX_FAULTS:
                break
        if faults:
            raise ImportFault(faults[:MAX_FAULTS])
        audited_bulk_create(state.new)
        for peer, columns in state.changed:
            # The other columns may be written meanwhile, without the lock.
            peer.save(update_fields=columns)
        if dry_run:
            raise _DryRunError
    return ImportResult(len(state.new), len(state.changed), state.unchanged)


@contextmanager
def _arrived(lines: Iterable[bytes]) -> Iterator[Iterable[bytes]]:
    """Give the lines once all are here.

    They may come by a slow pipe, for which nobody must wait under the lock.
    """
    with tempfile.SpooledTemporaryFile(max_size=SPOOLED) as kept:
        for line in lines:
            kept.write(line.rstrip(b"\n")[: MAX_LINE + 1] + b"\n")
            # What shows that a line is too long is enough: it may never end.
            if len(line) > MAX_LINE + 1:
                break
        kept.seek(0)
        yield kept


def _take(state: _Import, number: int, line: bytes) -> list[LineFault]:
    """Read one line into the state; return its faults."""
    if not line.strip():
        return []
    if len(line.rstrip(b"\n")) > MAX_LINE:
        return [LineFault(number, "", f"the line is longer than {MAX_LINE} bytes")]
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return [LineFault(number, "", f"not JSON: {error}")]
    if not isinstance(entry, dict):
        return [LineFault(number, "", "not a JSON object")]
    values, errors = _values(entry, state.users)
    errors = errors or _apply(state, number, values)
    return [LineFault(number, error.field, error.message) for error in errors]


def _values(
    entry: dict[str, Any], users: dict[str, str]
) -> tuple[dict[str, Any], list[FieldError]]:
    """Return the columns that a line gives, and the faults of its types."""
    values: dict[str, Any] = {}
    errors: list[FieldError] = []
    for name, given in entry.items():
        kind = FIELDS.get(name)
        if kind is None:
            shown = name[:64]
            errors.append(FieldError(shown, f"{shown!r} is not a field of a peer"))
            continue
        value = _typed(kind, given)
        if value == _NEVER and name in _MAY_BE_NEVER:
            values[name] = None
        elif value in (None, _NEVER):
            errors.append(FieldError(name, f"{name} must be {kind}"))
        else:
            values[name] = value
    if "wg_public_key" not in entry:
        errors.append(FieldError("wg_public_key", "wg_public_key is required"))
    if "user" in values:
        user = values.pop("user")
        found = users.get(user) or users.get(fold_email(user) or "")
        if user and found is None:
            message = f"no user has the e-mail address or id {user[:64]!r}"
            errors.append(FieldError("user", message))
        values["user_id"] = found
    return values, errors


def _typed(kind: str, given: Any) -> Any:
    """Return the value of a field as its column has it, None for a wrong type."""
    if kind == _TIME:
        return _moment(given)
    fits = {
        _TEXT: isinstance(given, str),
        _TRUTH: isinstance(given, bool),
        _NUMBER: isinstance(given, int) and not isinstance(given, bool),
        _LABELS: isinstance(given, list) and all(isinstance(x, str) for x in given),
        _FLAGS: isinstance(given, dict)
        and all(isinstance(x, bool) for x in given.values()),
    }
    return given if fits[kind] else None


def _moment(given: Any) -> dt.datetime | None:
    # Python takes a week for its Monday.
    if not isinstance(given, str) or "W" in given:
        return None
    try:
        moment = dt.datetime.fromisoformat(given)
        # In UTC, as it is stored: what begins in year 1 elsewhere may not be in it there.
        return moment.astimezone(dt.UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _apply(state: _Import, number: int, values: dict[str, Any]) -> list[FieldError]:
    """Prepare the peer of a line: a new one, or the one with this key."""
    key = values["wg_public_key"]
    if key in state.lines:
        message = f"the peer of line {state.lines[key]} has this public key too"
        return [FieldError("wg_public_key", message)]
    peer = state.known.get(key) or Peer()
    fresh = peer._state.adding
    if fresh and "name" not in values:
        return [FieldError("name", "name is required for a new peer")]
    before = {name: getattr(peer, name) for name in values}
    if not fresh:
        # What it gives up is free for itself and for the lines that follow.
        state.peers.unbook(peer)
    held = peer.ipv6
    errors = peer_prepare(peer, values, state.peers.taken)
    if errors:
        return errors  # not booked again: after a fault nothing is written
    if peer.ipv6 and peer.ipv6 != held:
        try:
            check_ipv6(state.account, state.groups_of(peer.pk))
        except PreconditionFailed as error:
            return list(error.errors)
    state.peers.book(peer)
    state.lines[key] = number
    if fresh:
        state.new.append(peer)
    elif any(getattr(peer, name) != value for name, value in before.items()):
        # The label is in no line: it follows the name.
        state.changed.append((peer, [*values, "dns_label"]))
    else:
        state.unchanged += 1
    return []
