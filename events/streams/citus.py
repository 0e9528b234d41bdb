"""The extension Citus: which streams it spreads over workers, and how they are.

The rows of a spread stream lie with the workers, by a hash of their ids. All other tables
stay with the coordinator, those that count and add the streams up, too.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from django.db import OperationalError, connection, transaction
from django.db.models import Q

from events.streams.catalogue import STREAMS, Stream
from meshmgmt.core.printable import counted
from meshmgmt.core.queries import execute, fetched

WAIT_MS: Final = 900
"""How long a worker may take to answer a check; one that is well needs a few."""

_IN_DOUBT: Final = (
    "SELECT count(*) FROM pg_prepared_xacts"
    " WHERE database = current_database() AND starts_with(gid, 'citus_')"
)
_UNLESS_SEEN: Final = Q(pk__in=[])


@dataclass(frozen=True, slots=True)
class Worker:
    """A server that holds shards, as the coordinator knows it."""

    name: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}:{self.port}"


def is_installed() -> bool:
    """Tell whether the extension is in this database."""
    return connection.vendor == "postgresql" and bool(
        fetched("SELECT 1 FROM pg_extension WHERE extname = 'citus'")
    )


def is_spread(stream: Stream) -> bool:
    """Tell whether the rows of a stream lie with workers."""
    return is_installed() and bool(
        fetched(
            "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = %s::regclass",
            [stream.table],
        )
    )


def shards_of(stream: Stream) -> int:
    """Return over how many shards a spread stream goes, which each of its days has."""
    [(number,)] = fetched(
        "SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = %s::regclass",
        [stream.table],
    )
    return int(number)


def workers() -> list[Worker]:
    """Return the workers that are active, as the coordinator was told."""
    if not is_installed():
        return []
    nodes = "SELECT node_name, node_port FROM citus_get_active_worker_nodes()"
    return [Worker(*row) for row in sorted(fetched(nodes))]


def answers(worker: Worker) -> bool:
    """Tell whether the coordinator reaches a worker, within two seconds."""
    # A connection from before the worker was started again fails once, and is closed.
    return _answers(worker) or _answers(worker)


def _answers(worker: Worker) -> bool:
    try:
        with transaction.atomic():
            # The one bounds a new connection, the other a worker that hangs on a kept one.
            execute(f"SET LOCAL citus.node_connection_timeout = {WAIT_MS}")
            execute(f"SET LOCAL statement_timeout = {WAIT_MS}")
            [(there,)] = fetched(
                "SELECT citus_check_connection_to_node(%s, %s)",
                [worker.name, worker.port],
            )
            return bool(there)
    except OperationalError:
        return False


def absence() -> str:
    """Return which workers are away, "" when all answer or nothing is spread."""
    # Asked by every /readyz and first page: one query where there is no extension.
    if not is_installed() or not any(map(is_spread, STREAMS.values())):
        return ""
    there = workers()
    return told_away(there, [worker for worker in there if not answers(worker)])


def told_away(there: Sequence[Worker], away: Sequence[Worker]) -> str:
    """Return the sentence about workers that are away, "" of none."""
    if not away:
        return ""
    names = ", ".join(map(str, away))
    of_all = f"{len(away)} of {counted(len(there), 'database worker')}"
    return f"{of_all} away: {names}; events can be neither read nor stored"


@contextmanager
def ingest_held() -> Iterator[None]:
    """Let no batch of any stream be under way in a block, which must be short.

    The locks are the session's: what the block does may begin a transaction.
    """
    keys = [stream.lock_key for stream in STREAMS.values()]
    with ExitStack() as held:
        for key in keys:  # in one order, so that two holders cannot deadlock
            execute("SELECT pg_advisory_lock(%s)", [key])
            # At once: the next may be waited for in vain.
            held.callback(execute, "SELECT pg_advisory_unlock(%s)", [key])
        yield


def settled(stream: Stream) -> Q:
    """Return the condition that no event which arrived earlier can still come to sight.

    Citus commits with one worker after another, and readers see what is there: later
    numbers before earlier ones. Whoever remembers how far it has read needs this.
    """
    if not is_spread(stream):
        return Q()
    with ingest_held():
        return _UNLESS_SEEN if in_doubt() else Q(arrival__lte=last_arrival(stream))


def last_arrival(stream: Stream) -> int:
    """Return the number that was given last; those of batches under way, too."""
    [(number,)] = fetched(f"SELECT last_value FROM {stream.arrivals}")  # noqa: S608 - name of ours
    return int(number)


def in_doubt() -> bool:
    """Tell whether a worker has yet to learn of a commit; to ask while ingest is held.

    One that is lost between the two phases of a commit is told within a minute of its
    coming back (Citus: `citus.recover_2pc_interval`).
    """
    asked = "SELECT success, result FROM run_command_on_workers(%s)"
    answers = fetched(asked, [_IN_DOUBT])
    return any(not success or result != "0" for success, result in answers)
