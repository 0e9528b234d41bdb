"""Debug bundles that peers are asked for: who asks, who takes it to the peer, its answer.

A peer answers on the stream that a job came by alone, so a job whose stream has ended is
over. Everything but the asking is unaudited and takes no account lock.
"""

import datetime as dt
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from events.activities import Activity
from events.audit.emission import audit_record
from meshmgmt.control.jobrules import BUNDLE, Parameters, bundle_errors
from meshmgmt.control.models import JobStatus, PeerJob
from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services.reporting import plain
from meshmgmt.core import clock, context
from meshmgmt.core.errors import BadRequest, PreconditionFailed, raise_field_errors
from meshmgmt.core.queries import batches, found, narrowed
from meshmgmt.core.resources import Row
from meshmgmt.core.transactions import account_write, queued_write
from meshmgmt.inventory.models import Peer
from meshmgmt.mesh.versions import supports

SINCE: Final = "0.64.0"
"""The first version of the client that takes jobs."""

PATIENCE: Final = dt.timedelta(hours=24)
KEPT: Final = dt.timedelta(days=30)
EVERY_SECONDS: Final = 600.0
LONGEST_TEXT: Final = 2000

NO_ANSWER: Final = "the peer did not answer within 24 hours"
STREAM_ENDED: Final = "the connection ended before the peer answered"
NO_RESULT: Final = "the peer answered without a result"

_WAITING: Final = Q(status=JobStatus.PENDING)


def job_create(*, peer_id: str, parameters: Parameters) -> PeerJob:
    """Ask a peer for a debug bundle.

    Raises NotFound, InvalidArgument, PreconditionFailed for a client that takes no jobs,
    and BadRequest for a peer that is not connected or was asked already.
    """
    with account_write():
        peer = found(Peer, peer_id, kind="peer")
        raise_field_errors(bundle_errors(parameters))
        check_peer(peer)
        job = PeerJob.objects.create(
            peer=peer,
            triggered_by=context.current().actor.id,
            parameters=dict(parameters),
        )
        meta = {"for_peer_name": peer.name, "job_type": BUNDLE}
        code = Activity.PEER_JOB_CREATE
        audit_record(code, target_id=peer.pk, target_type="peer", meta=meta)
        return job


def check_peer(peer: Peer) -> None:
    """Raise PreconditionFailed or BadRequest, as `job_create` does, for its peer."""
    if not supports(peer.version, SINCE):
        version = peer.version or "that is not known"
        text = f"the peer's client has version {version}; jobs need {SINCE} or newer"
        raise PreconditionFailed(text)
    if not peer.connected:
        raise BadRequest("the peer is not connected")
    if PeerJob.objects.filter(_WAITING, peer=peer).exists():
        raise BadRequest("the peer has a pending job already")


# ---- what the process does that holds the peer's stream


@dataclass(frozen=True, slots=True)
class Order:
    """A job on its way to its peer."""

    job_id: str
    peer_id: str
    message: bytes


def streams_began(public_keys: Sequence[str]) -> list[str | Exception]:
    """Return the ids of the peers that opened their Job streams, "" for strangers.

    What was sent to them before went by streams that they have given up. A few queries
    for all of them: after a restart everybody comes back at once.
    """
    known: dict[str, str] = {}
    for keys in batches(public_keys):
        peers = Peer.objects.filter(wg_public_key__in=keys).order_by()
        known.update(peers.values_list("wg_public_key", "pk"))
    came = set(known.values())
    sent = PeerJob.objects.filter(_WAITING, sent_at__isnull=False)
    give_up(pk for pk, peer_id in sent.values_list("pk", "peer_id") if peer_id in came)
    return [known.get(key, "") for key in public_keys]


def take_orders(peer_ids: Collection[str]) -> list[Order]:
    """Return the jobs that wait to be sent to these peers, each to one caller alone."""
    waiting = PeerJob.objects.filter(_WAITING, sent_at=None).order_by("id")
    # Few wait, and a query would take thousands of ids.
    wanted = [job for job in waiting if job.peer_id in peer_ids]
    if not wanted:
        return []
    with queued_write():
        return [_order(job) for job in wanted if _take(job)]


def _take(job: PeerJob) -> bool:
    """Note that a job is on its way, unless another process did."""
    untaken = PeerJob.objects.filter(_WAITING, pk=job.pk, sent_at=None)
    return untaken.update(sent_at=clock.now()) == 1


def _order(job: PeerJob) -> Order:
    bundle = pb.BundleParameters(**job.parameters)
    request = pb.JobRequest(ID=job.pk.encode(), bundle=bundle)
    return Order(job.pk, job.peer_id, request.SerializeToString())


def take_answer(peer_id: str, answer: pb.JobResponse) -> None:
    """Store what a peer answers; what was not asked of it is left aside."""
    job_id = answer.ID.decode("ascii", "replace")
    asked = PeerJob.objects.filter(_WAITING, pk=plain(job_id), peer=peer_id)
    if not asked.exists():  # no queueing for a write by whoever answers again and again
        return
    succeeded = answer.status == pb.JobStatus.succeeded
    told = plain(answer.Reason.decode("utf-8", "replace"), LONGEST_TEXT)
    with queued_write():
        asked.update(
            status=JobStatus.SUCCEEDED if succeeded else JobStatus.FAILED,
            completed_at=clock.now(),
            upload_key=plain(answer.bundle.upload_key, LONGEST_TEXT),
            failed_reason="" if succeeded else told or NO_RESULT,
        )


def give_up(job_ids: Iterable[str]) -> None:
    """Let those jobs fail that are not done: the stream that they went by has ended."""
    if ids := list(job_ids):
        _fail(Q(pk__in=ids), STREAM_ENDED)


def _fail(which: Q, reason: str) -> int:
    """Let pending jobs fail; return how many."""
    jobs = PeerJob.objects.filter(_WAITING, which)
    if not jobs.exists():
        return 0
    with queued_write():
        return jobs.update(
            status=JobStatus.FAILED, completed_at=clock.now(), failed_reason=reason
        )


# ---- housekeeping


def look_after_jobs() -> None:
    """Let jobs fail that were never answered, and forget those of long ago."""
    now = clock.now()
    _fail(Q(created_at__lt=now - PATIENCE), NO_ANSWER)
    old = PeerJob.objects.exclude(_WAITING).filter(created_at__lt=now - KEPT)
    if old.exists():
        with queued_write():
            old.delete()


def job_rows(peer_id: str, ids: Collection[str] | None = None) -> list[Row]:
    """Return jobs as the API shows them, newest first. Raises NotFound."""
    jobs = PeerJob.objects.filter(peer=found(Peer, peer_id, kind="peer"))
    return [_row(job) for job in narrowed(jobs, ids)]


def _row(job: PeerJob) -> Row:
    return {
        "id": job.pk,
        "created_at": clock.rfc3339(job.created_at),
        "completed_at": clock.rfc3339(job.completed_at),
        "triggered_by": job.triggered_by,
        "status": job.status,
        "failed_reason": job.failed_reason or None,
        "workload": {
            "type": BUNDLE,
            "parameters": job.parameters,
            "result": {"upload_key": job.upload_key or None},
        },
    }
