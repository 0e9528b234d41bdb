"""Spreads the streams over the workers of Citus by the ids of their events, and back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.db import OperationalError, connection

from events.streams import citus, pages, partitions
from events.streams.catalogue import STREAMS, Stream
from events.streams.statements import lock_timeout
from meshmgmt.core.queries import execute, fetched

BY: Final = "id"
SHARDS_A_WORKER: Final = 4
MOST_SHARDS: Final = 32_000
"""Citus: what a table may have."""

LOCK_TIMEOUT: Final = "5s"
_DAY_IS_DONE: Final = ("copying the data has completed", "moving the data of")
"""Citus: notices of `create_distributed_table` and of `undistribute_table`, by day."""


class Refused(Exception):
    """Nothing can be spread or brought back; one sentence."""


def state(stream: Stream) -> dict[str, Any]:
    """Return where a stream of PostgreSQL lies and how much it is.

    `shards` is 0 while it lies on the coordinator alone. `rows` are those tallied, `days`
    its partitions, `size` the bytes it takes there.
    """
    [(size,)] = fetched(
        "SELECT sum(pg_total_relation_size(relid))::bigint FROM pg_partition_tree(%s)",
        [stream.table],
    )
    return {
        "stream": stream.name,
        "table": stream.table,
        "rows": pages.everything(stream),
        "days": len(partitions.attached(stream)),
        "size": size or 0,
        "shards": citus.shards_of(stream) if citus.is_spread(stream) else 0,
    }


def concerned(*, back: bool) -> list[Stream]:
    """Return the streams that are to be spread, or to come back.

    Raises Refused when there are none or it cannot be done now.
    """
    _require_extension()
    _require_workers()
    found = [each for each in STREAMS.values() if citus.is_spread(each) is back]
    if not found and back:
        raise Refused("no stream is spread over workers: there is nothing to undo")
    if not found:
        told = ", ".join(
            f"{name} over {citus.shards_of(stream)} shards"
            for name, stream in STREAMS.items()
        )
        raise Refused(
            f"the streams are spread already ({told}); --undo brings them back"
        )
    return found


def _require_extension() -> None:
    if connection.vendor != "postgresql":
        raise Refused(
            "streams can be spread over workers of PostgreSQL only, not SQLite"
        )
    if citus.is_installed():
        return
    if fetched("SELECT 1 FROM pg_available_extensions WHERE name = 'citus'"):
        raise Refused(
            "the extension citus is not in this database: CREATE EXTENSION citus there,"
            " and on each worker"
        )
    raise Refused(
        "the extension citus is not installed on the database server: docs/scaling.md says"
        " what it takes"
    )


def _require_workers() -> None:
    [(group,)] = fetched("SELECT groupid FROM pg_dist_local_group")
    if group:
        raise Refused(
            "this database is a worker: SVC_DATABASE_URL must name the coordinator"
        )
    there = citus.workers()
    if not there:
        raise Refused(
            "the coordinator has no workers: SELECT citus_add_node('HOST', PORT) for each"
        )
    away = [worker for worker in there if not citus.answers(worker)]
    if away:
        raise Refused(citus.told_away(there, away))


def fitting_shards() -> int:
    """Return how many shards a stream gets if nobody says."""
    return SHARDS_A_WORKER * len(citus.workers())


def spread(stream: Stream, shards: int, day_done: Callable[[], None]) -> bool:
    """Move a stream to the workers, in one transaction; batches wait or get 429 meanwhile.

    Returns whether its rows are gone from the coordinator's disk, too. Raises
    DatabaseError when nothing was moved.
    """
    # Citus: FINALIZE is not supported any more, then.
    partitions.bring_back(stream)
    with _patience(), _notices(day_done):
        # 'none': each is moved between workers without the other.
        execute(
            "SELECT create_distributed_table(%s, %s, colocate_with => 'none',"
            " shard_count => %s)",
            [stream.table, BY, shards],
        )
    return _forget_local(stream)


def _forget_local(stream: Stream) -> bool:
    """Remove the rows that Citus left, unseen, where they were."""
    try:
        with _patience():
            execute(
                "SELECT truncate_local_data_after_distributing_table(%s)",
                [stream.table],
            )
    except OperationalError:
        return False
    return True


def bring_back(stream: Stream, day_done: Callable[[], None]) -> None:
    """Move a stream back, in one transaction; nobody reads or writes it meanwhile.

    Raises DatabaseError when nothing was moved.
    """
    with _patience(), _notices(day_done):
        execute("SELECT undistribute_table(%s)", [stream.table])


@contextmanager
def _patience() -> Iterator[None]:
    """Wait little for locks, as others wait behind us, and long for the work."""
    with lock_timeout(LOCK_TIMEOUT):
        execute("SET statement_timeout = 0")
        try:
            yield
        finally:
            execute("RESET statement_timeout")


@contextmanager
def _notices(day_done: Callable[[], None]) -> Iterator[None]:
    """Call for each day that the database says is done; of an empty day it says nothing."""

    def hear(notice: Any) -> None:
        if str(notice.message_primary).startswith(_DAY_IS_DONE):
            day_done()

    connection.ensure_connection()
    session: Any = connection.connection
    session.add_notice_handler(hear)
    try:
        yield
    finally:
        session.remove_notice_handler(hear)
