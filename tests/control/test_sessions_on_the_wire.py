"""What an agent does from its first call on, over real sockets."""

import asyncio
import time

import grpc
import pytest

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.server.guests import PER_KEY
from tests.control.agents import (
    PATIENCE,
    Agent,
    answered,
    awaited,
    code_of,
    enrolled,
    followed,
    names,
    until,
)
from tests.control.deployment import Deployment

CODE = grpc.StatusCode


@awaited
async def test_an_agent_comes_up_in_the_recorded_order(deployment: Deployment):
    key = deployment.setup_key()
    async with Agent(deployment.url, hostname="alpha") as agent:
        for _ in range(2):  # "is a login needed"
            assert await code_of(agent.login()) is CODE.PERMISSION_DENIED
        enrolment = await agent.login(key.lower())
        again = await agent.login()
        assert again.peerConfig == enrolment.peerConfig
        assert again.peerConfig.fqdn.startswith("alpha.")
        assert again.netbirdConfig.signal.uri == f"127.0.0.1:{deployment.port}"
        assert again.netbirdConfig.signal.protocol == pb.HostConfig.HTTP
        assert again.HasField("sessionExpiresAt")
        assert again.sessionExpiresAt.ToSeconds() == 0
        await agent.connect_signal()
        job = agent.job()
        await job.initial_metadata()
        async for first in agent.sync():
            assert first.HasField("netbirdConfig")
            assert first.peerConfig == enrolment.peerConfig
            assert first.NetworkMap.peerConfig == enrolment.peerConfig
            assert first.NetworkMap.Serial > 0
            break
        await agent.management.isHealthy(pb.Empty())


@awaited
async def test_a_change_reaches_those_it_concerns_within_two_seconds(
    deployment: Deployment,
):
    async with (
        enrolled(deployment, "north") as north,
        enrolled(deployment, "south") as south,
        followed(north) as seen,
        followed(south),
    ):
        await until(lambda: "south" in names(seen))
        peer = await asyncio.to_thread(deployment.peer, "south")
        body = {**peer, "name": "storage"}
        begun = time.monotonic()
        await asyncio.to_thread(deployment.api, "PUT", f"/peers/{peer['id']}", body)
        await until(lambda: "storage" in names(seen))
        assert time.monotonic() - begun < 2 * PATIENCE  # generous: a busy machine
        assert seen.map.Serial == seen.serial


@awaited
async def test_the_api_shows_who_is_connected(deployment: Deployment):
    async with enrolled(deployment, "visible") as agent:
        async with followed(agent):
            await until(lambda: deployment.peer("visible")["connected"])
        await until(lambda: not deployment.peer("visible")["connected"])


@awaited
async def test_later_maps_leave_the_configuration_alone(deployment: Deployment):
    async with enrolled(deployment, "first") as agent:
        messages = agent.sync()
        assert (await anext(messages)).HasField("netbirdConfig")
        async with enrolled(deployment, "second"):
            later = await anext(messages)
            assert not later.HasField("netbirdConfig")
            assert later.HasField("NetworkMap")


@awaited
async def test_a_deleted_peer_gets_the_closing_map_then_the_end(deployment: Deployment):
    async with enrolled(deployment, "doomed") as agent:
        messages = agent.sync()
        await anext(messages)
        peer = await asyncio.to_thread(deployment.peer, "doomed")
        await asyncio.to_thread(deployment.api, "DELETE", f"/peers/{peer['id']}")
        received = [message async for message in messages]  # ends with OK
        last = received[-1].NetworkMap
        assert last.remotePeersIsEmpty
        assert last.firewallRulesIsEmpty
        assert not last.DNSConfig.ServiceEnable
        assert await code_of(anext(agent.sync())) is CODE.PERMISSION_DENIED


@awaited
async def test_a_peer_that_logs_out_is_gone(deployment: Deployment):
    async with (
        enrolled(deployment, "witness") as witness,
        enrolled(deployment, "leaver") as agent,
        followed(witness) as seen,
    ):
        await until(lambda: "leaver" in names(seen))
        messages = agent.sync()
        await anext(messages)
        await agent.logout()
        assert [message async for message in messages][-1].HasField("NetworkMap")
        await until(lambda: "leaver" not in names(seen))
        assert await code_of(agent.logout()) is CODE.NOT_FOUND


@awaited
async def test_a_second_stream_replaces_the_first(deployment: Deployment):
    async with enrolled(deployment, "twice") as agent:
        first, second = agent.sync(), agent.sync()
        await anext(first)
        await anext(second)
        rest = [message async for message in first]  # ends with OK
        assert all(message.HasField("NetworkMap") for message in rest)
        async with enrolled(deployment, "thrice"):
            assert (await anext(second)).HasField("NetworkMap")
        await until(lambda: deployment.peer("twice")["connected"])


@awaited
async def test_signals_reach_the_other_agent_and_oneself(deployment: Deployment):
    async with enrolled(deployment, "one") as one, enrolled(deployment, "two") as two:
        ears_of_one = await one.connect_signal()
        ears_of_two = await two.connect_signal()
        await one.send_signal(two.public_key, b"offer")
        await two.send_signal(two.public_key, b"am I heard")
        await two.send_signal("nobody", b"lost")
        heard = [await ears_of_two.read() for _ in range(2)]
        assert [message.body for message in heard] == [b"offer", b"am I heard"]
        assert heard[0].key == one.public_key
        assert not ears_of_one.done()


@awaited
async def test_nobody_takes_the_signals_of_another(deployment: Deployment):
    async with (
        enrolled(deployment, "heard") as heard,
        Agent(deployment.url) as eavesdropper,
    ):
        streams = [await heard.connect_signal()]
        eavesdropper.public_key = heard.public_key
        streams += [await eavesdropper.connect_signal() for _ in range(PER_KEY - 1)]
        await heard.send_signal(heard.public_key, b"to all")
        assert {(await each.read()).body for each in streams} == {b"to all"}
        metadata = (("x-wiretrustee-peer-id", heard.public_key),)
        fifth = eavesdropper.signals.ConnectStream(metadata=metadata)
        assert await fifth.code() is CODE.RESOURCE_EXHAUSTED
        assert not any(each.done() for each in streams)
        streams[1].cancel()
        await until(lambda: answered(eavesdropper.connect_signal()))


@awaited
async def test_a_key_of_no_peer_gets_no_stream(deployment: Deployment):
    async with Agent(deployment.url) as stranger:
        metadata = (("x-wiretrustee-peer-id", stranger.public_key),)
        job = stranger.job()
        hello = pb.JobRequest(ID=b"x" * 36)
        await job.write(stranger.sealed(await stranger.server_box(), hello))
        for stream in (job, stranger.signals.ConnectStream(metadata=metadata)):
            assert await stream.code() is CODE.UNAUTHENTICATED


@awaited
async def test_jobs_stay_silent_and_open(deployment: Deployment):
    async with enrolled(deployment, "worker") as agent:
        job = agent.job()
        await job.write(
            agent.sealed(await agent.server_box(), pb.JobRequest(ID=b"x" * 36))
        )
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await job.read()


@awaited
async def test_meta_reported_on_the_way_is_stored(deployment: Deployment):
    async with enrolled(deployment, "updated", netbirdVersion="0.70.0") as agent:
        await agent.sync_meta(netbirdVersion="0.77.1")
        assert deployment.peer("updated")["version"] == "0.77.1"
