"""The serial of the maps, and which part of the account each change touched.

One row for each write that some map may depend on, made in its transaction. Its key is
the serial: Unix milliseconds, or one more than the last when that is later. So it grows
also over a database that was put back from a backup, for every process that serves maps
begins with a row of its own.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson
from django.db import connection, models, transaction

from dns.models import DnsSettings, NameserverGroup, Record, Zone
from events.audit.changes import Change
from events.audit.emission import changes_written
from groups.models import Group
from meshmgmt.access.models import Policy, PolicyRule, PostureCheck, Route, Router
from meshmgmt.accounts.models import Account, User
from meshmgmt.control.models import MapChange, PeerJob
from meshmgmt.core.transactions import account_write
from meshmgmt.inventory.models import Network, NetworkResource, Peer
from meshmgmt.inventory.reports import decisive_report
from meshmgmt.meshstate.loading import Touched

CHANNEL: Final = "meshmgmt_maps"
"""PostgreSQL notifies this channel of each new serial."""

KEPT_MILLISECONDS: Final = 3_600_000
EVERY_SECONDS: Final = 600.0
AT_MOST: Final = 2000
"""A change that touches more objects touches everything."""

EVERYTHING: Final = ""


# Asked several times a second: Django would take longer to write it than to ask it.
_SINCE: Final = (
    f"SELECT serial, touched FROM {MapChange._meta.db_table}"  # noqa: S608 - our name
    " WHERE serial >= %s ORDER BY serial"
)

_BIG: Final[Mapping[type[models.Model], str]] = {
    Peer: "peers",
    Group: "groups",
    Zone: "zones",
    Record: "zones",
}
"""Models of which only what changed is read again, by its name in `Touched`."""
_SMALL: Final[frozenset[type[models.Model]]] = frozenset(
    {
        *(Account, DnsSettings, NameserverGroup, Network, NetworkResource, Policy),
        *(PolicyRule, PostureCheck, Route, Router, User),
    }
)
"""The other models that maps depend on; they are read whole each time."""


@dataclass(slots=True)
class _Note:
    """A peer whose unaudited columns changed; rides on the callbacks of the write.

    Django drops it when a savepoint is rolled back, as it does the audit trail's.
    """

    peer_id: str
    taken: bool = False

    def __call__(self) -> None:
        """Do nothing after the commit."""


def register() -> None:
    """Follow every write of the account."""
    changes_written.connect(_record, dispatch_uid="control.record_changes")
    models.signals.post_save.connect(
        _peer_saved, sender=Peer, dispatch_uid="control.peer_saved"
    )
    decisive_report.connect(_peer_reported, dispatch_uid="control.peer_reported")
    models.signals.post_save.connect(
        _job_saved, sender=PeerJob, dispatch_uid="control.job_saved"
    )


def begin(*, above: int = 0) -> None:
    """Raise the serial above all that was handed out so far; touches nothing.

    `above` is a serial that may be unknown to the database.
    """
    with account_write():
        _insert(_stored(Touched()), least=above + 1)


def changes_since(serial: int) -> tuple[int, Touched | None]:
    """Return the newest serial, and what was touched after `serial`.

    None stands for everything: `serial` is not on record, for its row is too old or the
    database was put back. The newest serial is 0 when there is none.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SINCE, [serial])
        rows = cursor.fetchall()
    if not rows or rows[0][0] != serial:
        return newest_serial(), None
    touched = Touched()
    for _, text in rows[1:]:
        if text == EVERYTHING:
            return rows[-1][0], None
        touched |= Touched(
            **{name: frozenset(ids) for name, ids in orjson.loads(text).items()}
        )
    return rows[-1][0], touched


def newest_serial() -> int:
    """Return the serial of the maps, 0 before there was any."""
    serials = MapChange.objects.order_by("-serial").values_list("serial", flat=True)
    return serials.first() or 0


def forget_old() -> int:
    """Delete rows that nobody needs any more; return how many. The newest one stays."""
    before = min(newest_serial(), _milliseconds() - KEPT_MILLISECONDS)
    return MapChange.objects.filter(serial__lt=before).delete()[0]


def _record(changes: Sequence[Change], **kwargs: Any) -> None:
    followed = _BIG.keys() | _SMALL
    touched = [
        _touched(change)
        for change in changes
        if type(change.instance) in followed and not (change.created and change.deleted)
    ]
    for _, callback, *_ in transaction.get_connection().run_on_commit:
        if isinstance(callback, _Note) and not callback.taken:
            callback.taken = True
            touched.append(Touched(peers=frozenset({callback.peer_id})))
    if any(_begins_to_matter(change) for change in changes):
        _insert(EVERYTHING)
    elif touched:
        _insert(_stored(*touched))


def _touched(change: Change) -> Touched:
    instance: Any = change.instance
    name = _BIG.get(type(instance))
    id_ = instance.zone_id if isinstance(instance, Record) else change.pk
    return Touched(**{name: frozenset({id_})}) if name else Touched()


def _begins_to_matter(change: Change) -> bool:
    """Tell whether maps now depend on what peers reported quietly until then.

    Without posture checks, reports of addresses and files are no changes of maps.
    """
    return change.created and isinstance(change.instance, PostureCheck)


def _peer_saved(instance: Peer, **kwargs: Any) -> None:
    transaction.on_commit(_Note(instance.pk))


def _job_saved(instance: PeerJob, **kwargs: Any) -> None:
    """Have the process that holds the peer's streams look: its map stays the same."""
    transaction.on_commit(_Note(instance.peer_id))


def _peer_reported(peer_id: str, **kwargs: Any) -> None:
    transaction.on_commit(_Note(peer_id))


def _stored(*parts: Touched) -> str:
    names = ("peers", "groups", "zones")
    ids = {
        name: sorted(frozenset().union(*(getattr(part, name) for part in parts)))
        for name in names
    }
    if sum(map(len, ids.values())) > AT_MOST:
        return EVERYTHING
    return orjson.dumps({name: found for name, found in ids.items() if found}).decode()


def _insert(touched: str, *, least: int = 0) -> None:
    """Insert the row with the next serial, in the running write."""
    table = MapChange._meta.db_table
    now = max(_milliseconds(), least)
    insert = (
        f"INSERT INTO {table} (serial, touched)"  # noqa: S608 - our name
        " SELECT CASE WHEN MAX(serial) >= %s THEN MAX(serial) + 1 ELSE %s END,"
        f" CAST(%s AS text) FROM {table}"
    )
    if connection.vendor == "postgresql":
        insert = (
            # Heard at the commit, never before the row can be read.
            f"WITH made AS ({insert} RETURNING serial)"  # noqa: S608 - our names
            f" SELECT pg_notify('{CHANNEL}', CAST(serial AS text)) FROM made"
        )
    with connection.cursor() as cursor:
        cursor.execute(insert, [now, now, touched])


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
