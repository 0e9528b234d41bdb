"""The copy: one transaction, one correlation id, and a report of what became of what.

And how this account differs from the other, once it is made.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import orjson
from rest_framework.exceptions import ValidationError

from dns.selectors import disabled_management_groups
from groups.selectors import group_rows
from meshmgmt.accounts.models import User
from meshmgmt.accounts.selectors import (
    EXTRA_SETTINGS,
    SETTINGS,
    account_rows,
    user_rows,
)
from meshmgmt.api.exceptions import describe
from meshmgmt.api.renderers import to_json
from meshmgmt.core import context
from meshmgmt.core.errors import Conflict, PreconditionFailed, ServiceError
from meshmgmt.core.ids import new_id
from meshmgmt.core.progress import bar
from meshmgmt.core.transactions import account_write, read_snapshot
from meshmgmt.env import PROGRAM
from meshmgmt.inventory.selectors import peer_rows
from meshmgmt.movingin.comparing import Comparison, compare
from meshmgmt.movingin.kinds import STEPS, VIEWS, Run, configuration, with_steps
from meshmgmt.movingin.models import Copied
from meshmgmt.movingin.rows import Row
from meshmgmt.movingin.source import COLLECTIONS, PARTS, Foreign, known_form, read


@dataclass(frozen=True, slots=True)
class Copy:
    """An object of the other service and ours; `is_new` when this run made it."""

    kind: str
    name: str
    old_id: str
    new_id: str
    is_new: bool


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object that could not be copied, and why."""

    kind: str
    name: str
    old_id: str
    reason: str


@dataclass(slots=True)
class Report:
    """What a run did. All its audit events have `request_id`.

    `setup_keys` are the new secrets by our id, shown this once.
    """

    request_id: str
    copies: list[Copy] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    setup_keys: Mapping[str, str] = field(default_factory=dict)
    not_served: Sequence[str] = ()

    def counts(self) -> dict[str, dict[str, int]]:
        """Return how many of each kind were copied, known before and left out."""
        new = Counter(copy.kind for copy in self.copies if copy.is_new)
        known = Counter(copy.kind for copy in self.copies if not copy.is_new)
        left = Counter(entry.kind for entry in self.left_out)
        return {
            kind: {"copied": new[kind], "known": known[kind], "left_out": left[kind]}
            for kind in STEPS
            if new[kind] or known[kind] or left[kind]
        }

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {**asdict(self), "counts": self.counts()}


class _DryRunError(Exception):
    """Takes back what a dry run wrote."""


def account_copy(foreign: Foreign, *, keys: Mapping[str, str], dry_run: bool) -> Report:
    """Copy what is not copied yet, all or nothing; `keys` are public keys by address.

    Raises PreconditionFailed without an owner, Conflict for an account that holds
    configuration of its own, SourceError for rows of another form.
    """
    report = Report(request_id=new_id(), not_served=foreign.missing)
    try:
        scope = context.scope(request_id=report.request_id)
        with known_form(), scope, account_write():
            run = _begin(foreign.account_id, keys)
            steps = with_steps(foreign.rows)
            objects = [(kind, row) for kind, rows in steps.items() for row in rows]
            for kind, row in bar("copying", objects):
                _take(foreign.account_id, kind, row, run, report)
            if dry_run:
                raise _DryRunError
    except _DryRunError:
        return report
    # Not before the commit: a dry run leaves no keys that these would open.
    report.setup_keys = run.secrets
    return report


def account_compare(foreign: Foreign) -> Comparison:
    """Return how this account differs from the other, by what was copied.

    Raises PreconditionFailed without an owner, SourceError for rows of another form.
    """
    ids, ours = _known_ids(foreign.account_id), _own_account(_owner())
    with known_form():
        return compare(foreign, ours, ids, settings=[*SETTINGS, *EXTRA_SETTINGS])


def _own_account(viewer: User) -> Foreign:
    """Return our account in the words of the API, as `viewer`, an owner, is answered."""
    special: dict[str, Callable[[], Any]] = {
        "accounts": account_rows,
        "users": partial(user_rows, viewer),
        "peers": partial(peer_rows, viewer),
        "groups": group_rows,
        "dns/settings": lambda: {
            "disabled_management_groups": disabled_management_groups()
        },
    }
    views = {path: VIEWS[kind] for kind, path in COLLECTIONS if kind in VIEWS}
    parts = {path.rpartition("/")[2]: VIEWS[kind] for kind, _, path in PARTS}

    def get(path: str) -> Any:
        if path in special:
            answer = special[path]()
        elif path in views:
            answer = views[path].apart().rows()
        else:
            whole, part = path.split("/")[-2:]
            answer = parts[part].apart(**{parts[part].whole_url_kwarg: whole}).rows()
        # Through JSON: times and enumerations are texts, as on the other side.
        return orjson.loads(to_json(answer))

    with read_snapshot():
        found = read(get)
    assert found is not None, "the account is made with the tables"
    return found


def _owner() -> User:
    owner = User.objects.owners().order_by("id").first()
    if owner is None:
        raise PreconditionFailed(
            f"there is no owner yet: make one with `{PROGRAM} create_token --user EMAIL`"
        )
    return owner


def _known_ids(source: str) -> dict[tuple[str, str], str]:
    copied = Copied.objects.filter(source=source)
    return {(row.kind, row.old_id): row.new_id for row in copied}


def _begin(source: str, keys: Mapping[str, str]) -> Run:
    owner, ids = _owner(), _known_ids(source)
    _refuse_other(set(ids.values()))
    return Run(owner=owner, keys=keys, ids=ids)


def _refuse_other(copies: set[str]) -> None:
    """Raise Conflict for configuration that is no copy from the same service."""
    others = {
        kind: len(set(objects.values_list("pk", flat=True)) - copies)
        for kind, objects in configuration().items()
    }
    shown = ", ".join(f"{kind}: {count}" for kind, count in others.items() if count)
    if shown:
        raise Conflict(
            f"this account holds other configuration ({shown}); moving in needs one that"
            " holds none, beside users and settings"
        )


def _take(source: str, kind: str, row: Row, run: Run, report: Report) -> None:
    """Copy one object unless it is copied already."""
    old_id, name = str(row["id"]), _name(row)
    known = run.ids.get((kind, old_id))
    # Left alone, however either side has changed since it was copied.
    if known is not None:
        report.copies.append(Copy(kind, name, old_id, known, is_new=False))
        return
    try:
        # A savepoint: what a refused object wrote goes, the others stay.
        with account_write(), known_form():
            new_id = STEPS[kind](row, run)
            Copied.objects.create(
                source=source, kind=kind, old_id=old_id, new_id=new_id
            )
    except (ServiceError, ValidationError) as error:
        report.left_out.append(LeftOut(kind, name, old_id, _reason(error)))
        return
    run.ids[kind, old_id] = new_id
    report.copies.append(Copy(kind, name, old_id, new_id, is_new=True))


def _name(row: Row) -> str:
    """Return the name for people; a router is known by its network."""
    name = row.get("name") or row.get("network_id")
    if not name and row.get("part_of_name"):
        name = f"of {row['part_of_name']}"
    return str(name or "")


def _reason(error: Exception) -> str:
    _, message, faults = describe(error)
    return "; ".join(f"{fault.field}: {fault.message}" for fault in faults) or message
