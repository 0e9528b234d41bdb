"""Jobs from the API to agents and back, over real sockets and between processes."""

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nacl.public import Box

from meshmgmt.control.protocol import management_pb2 as pb
from tests.control.agents import PATIENCE, Agent, awaited, enrolled, followed, until
from tests.control.deployment import Deployment

PARAMETERS = {
    "bundle_for": False,
    "bundle_for_time": 0,
    "log_file_count": 10,
    "anonymize": True,
}


class Worker:
    """An agent's Job stream."""

    def __init__(self, agent: Agent, box: Box) -> None:
        self.agent = agent
        self.box = box
        self.stream = agent.job()

    async def greet(self) -> None:
        """Say who is there, as agents do first."""
        hello = pb.JobRequest(ID=str(uuid.uuid4()).encode())
        await self.stream.write(self.agent.sealed(self.box, hello))

    async def asked(self) -> pb.JobRequest:
        """Return what the server asks for next."""
        async with asyncio.timeout(PATIENCE):
            envelope = await self.stream.read()
        return pb.JobRequest.FromString(self.box.decrypt(envelope.body))

    async def answer(self, job: pb.JobRequest, **facts: Any) -> None:
        """Say what became of a job."""
        response = pb.JobResponse(ID=job.ID, **facts)
        await self.stream.write(self.agent.sealed(self.box, response))


@asynccontextmanager
async def working(agent: Agent) -> AsyncIterator[Worker]:
    """Yield an agent's Job stream; it is gone afterwards, as when a machine is."""
    worker = Worker(agent, await agent.server_box())
    await worker.greet()
    try:
        yield worker
    finally:
        worker.stream.cancel()


class Asked:
    """A job as the API shows it."""

    def __init__(self, deployment: Deployment, hostname: str) -> None:
        self.deployment = deployment
        peer = deployment.peer(hostname)
        body = {"workload": {"type": "bundle", "parameters": PARAMETERS}}
        self.at = f"/peers/{peer['id']}/jobs"
        self.id = deployment.api("POST", self.at, body)["id"]

    def row(self) -> dict[str, Any]:
        return dict(self.deployment.api("GET", f"{self.at}/{self.id}"))

    def done(self) -> dict[str, Any] | None:
        """Return it unless it is pending."""
        row = self.row()
        return None if row["status"] == "pending" else row


async def ask(deployment: Deployment, hostname: str) -> Asked:
    """Ask a peer that is, or is about to be, connected."""
    await until(lambda: deployment.peer(hostname)["connected"])
    return await asyncio.to_thread(Asked, deployment, hostname)


@awaited
async def test_bundle_is_asked_of_the_agent_and_its_key_or_failure_comes_back(
    deployment: Deployment,
):
    async with (
        enrolled(deployment, "packer") as agent,
        followed(agent) as seen,
        working(agent) as worker,
    ):
        before = seen.map
        made: list[dict[str, Any]] = []
        for key in ("first/bundle", "second/bundle"):
            job = await ask(deployment, "packer")
            request = await worker.asked()
            assert request.ID.decode() == job.id
            assert request.bundle == pb.BundleParameters(
                log_file_count=10, anonymize=True
            )
            assert job.row()["status"] == "pending"
            result = pb.BundleResult(upload_key=key)
            await worker.answer(request, status=pb.JobStatus.succeeded, bundle=result)
            done = await until(job.done)
            assert (done["status"], done["failed_reason"]) == ("succeeded", None)
            assert done["workload"]["result"] == {"upload_key": key}
            made.insert(0, done)
            assert deployment.api("GET", job.at) == made
        job = await ask(deployment, "packer")
        request = await worker.asked()
        await worker.answer(request, status=pb.JobStatus.failed, Reason=b"disk full")
        done = await until(job.done)
        assert (done["status"], done["failed_reason"]) == ("failed", "disk full")
        assert seen.map == before  # nobody's map has to do with it


@awaited
async def test_job_waits_for_the_stream_and_fails_with_it(deployment: Deployment):
    async with enrolled(deployment, "late") as agent, followed(agent):
        job = await ask(deployment, "late")
        async with working(agent) as worker:
            assert (await worker.asked()).ID.decode() == job.id
        done = await until(job.done)
        assert done["status"] == "failed"
        assert "connection ended" in done["failed_reason"]
        another = await ask(deployment, "late")
        async with working(agent) as worker:
            assert (await worker.asked()).ID.decode() == another.id


@awaited
async def test_newer_stream_gets_the_job_and_the_older_one_ends(deployment: Deployment):
    async with (
        enrolled(deployment, "twice") as agent,
        followed(agent),
        working(agent) as older,
    ):
        await older.stream.initial_metadata()
        first = await ask(deployment, "twice")
        assert (await older.asked()).ID.decode() == first.id
        async with working(agent) as newer:
            assert (await until(first.done))["status"] == "failed"
            second = await ask(deployment, "twice")
            assert (await newer.asked()).ID.decode() == second.id


@awaited
async def test_nobody_answers_for_another(deployment: Deployment):
    async with (
        enrolled(deployment, "honest") as agent,
        enrolled(deployment, "liar") as other,
        followed(agent),
        working(agent) as worker,
        working(other) as lying,
    ):
        job = await ask(deployment, "honest")
        request = await worker.asked()
        await lying.answer(request, status=pb.JobStatus.failed, Reason=b"lie")
        result = pb.BundleResult(upload_key="true")
        await worker.answer(request, status=pb.JobStatus.succeeded, bundle=result)
        done = await until(job.done)
        assert done["workload"]["result"] == {"upload_key": "true"}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_job_under_way_fails_when_the_server_starts_anew(
    upset: Deployment, number: signal.Signals
):
    hostname = f"restarted-{number.name.lower()}"

    @awaited
    async def scenario() -> None:
        async with enrolled(upset, hostname) as agent, followed(agent):
            async with working(agent) as worker:
                job = await ask(upset, hostname)
                await worker.asked()
                await asyncio.to_thread(upset.stop, number)
            await asyncio.to_thread(upset.start)
            async with working(agent):
                done = await until(job.done)
            assert done["status"] == "failed"
            assert "connection ended" in done["failed_reason"]

    scenario()
