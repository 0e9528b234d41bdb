"""What operators see of connected peers: metrics, status, readiness, debug runs."""

import asyncio
import json
import signal
import socket
import sys
import zipfile
from pathlib import Path

import pytest

from tests.control.agents import awaited, enrolled, followed, names, run, until
from tests.control.deployment import Deployment, not_served
from tests.runfolder import clean_environ
from tests.servers import GUNICORN, Server, free_port
from tests.waiting import until as server_until


@awaited
async def test_the_metrics_of_the_peers_move(deployment: Deployment):
    async with enrolled(deployment, "meter") as agent, followed(agent) as seen:
        async with enrolled(deployment, "other") as other:
            await until(lambda: "other" in names(seen))
            await other.sync_meta(netbirdVersion="0.77.2")
        found = deployment.metrics()
        assert found["management_grpc_connected_streams"] == 1
        least = {
            "grpc_sync_request_counter": 1,
            "grpc_login_request_counter": 2,
            "grpc_login_request_duration_ms_count": 2,
            "grpc_sync_request_duration_ms_count": 1,
            "grpc_updatechannel_queue_count": 1,
            "account_update_account_peers_duration_ms_count": 1,
            "account_get_peer_network_map_duration_ms_count": 2,
            "account_network_map_object_count_sum": 3,  # one peer, two rules
            "account_peer_meta_update_counter": 1,
        }
        counted = {name: found[f"management_{name}"] for name in least}
        assert {name for name in least if counted[name] < least[name]} == set()
        streams = 'mesh_peer_streams{kind="sync"}'
        await until(lambda: deployment.metrics().get(streams) == 1)


@awaited
async def test_status_counts_the_connected_peers(deployment: Deployment):
    async with enrolled(deployment, "counted") as agent, followed(agent):
        await agent.connect_signal()

        def counts() -> dict[str, float] | None:
            text = deployment.server.manage("status", "--json")
            found = dict(json.loads(text)["counts"])
            streams = {found["peer streams sync"], found["peer streams signal"]}
            return found if streams == {1} else None

        assert (await until(counts))["peer map wait seconds"] == 0


@pytest.mark.slow
def test_a_process_that_died_makes_the_server_unready_at_once(upset: Deployment):
    server = upset.server

    def check() -> str:
        answer = server.call("GET", "/readyz?verbose").json
        return str(answer["details"].get("peers", answer["checks"]["peers"]))

    assert check() == "ok"
    upset.stop(signal.SIGKILL)
    assert "has died" in check()
    status = server.tried("status", "--json").stdout
    assert "has died" in json.loads(status)["checks"]["peers"]
    upset.start()
    assert check() == "ok"
    path = server.folder / "run" / "peers.json"
    assert upset.process is not None
    upset.process.send_signal(signal.SIGSTOP)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "time": document["time"] - 60}))
    assert "no sign" in check()
    upset.process.send_signal(signal.SIGCONT)
    upset.stop()
    assert check() == "ok"


@pytest.mark.slow
def test_the_server_is_ready_when_peers_are_served_and_not_before(folder: Path):
    port = free_port()
    bind = f"127.0.0.1:{port}"
    web = Server(folder, command=GUNICORN, content="owner", SVC_GRPC_BIND=bind)
    peers = Server(folder)
    peers.environ = web.environ

    def ready() -> bool:
        reply = web.call("GET", "/readyz?verbose")
        reasons.add(reply.json["details"].get("peers", ""))
        return reply.status == 200

    reasons: set[str] = set()
    with web:
        assert not ready()
        [reason] = reasons
        assert "start `manage.py serve_peers`, or set SVC_GRPC_BIND=off" in reason
        peers.launch(sys.executable, "manage.py", "serve_peers")
        server_until(ready, "readiness")
        socket.create_connection(("127.0.0.1", port)).close()
        assert reasons <= {reason, "the process that serves peers is starting", ""}
        assert peers.stop() == 0
        assert not ready()


@pytest.mark.slow
def test_a_second_process_in_the_same_runtime_directory_is_refused(
    deployment: Deployment,
):
    bind = {"SVC_GRPC_BIND": f"127.0.0.1:{free_port()}"}
    said = not_served({**deployment.server.environ, **bind})
    assert "a process that serves peers" in said
    assert "runs already" in said


@pytest.mark.parametrize(
    ("processes", "said"), [("2", "need PostgreSQL"), ("none", "PEER_PROCESSES")]
)
def test_several_processes_for_peers_are_refused_where_they_cannot_be(
    tmp_path: Path, processes: str, said: str
):
    environment = {**clean_environ(), "SVC_DATA_DIR": str(tmp_path)}
    assert said in not_served(environment, "--processes", processes)


@pytest.mark.slow
def test_a_debug_run_keeps_what_peers_were_sent_without_tokens(deployment: Deployment):
    async def scenario() -> str:
        async with enrolled(deployment, "watched") as agent:
            watching = asyncio.create_task(
                asyncio.to_thread(deployment.server.manage, "debug", "for", "3s")
            )
            token = ""
            while not watching.done():
                message = await anext(agent.sync())
                token = message.netbirdConfig.relay.tokenSignature
                await asyncio.wait([watching], timeout=0.5)
            kept = _kept((await watching).splitlines()[-1])
            assert token
            assert token not in kept
            return kept

    kept = run(scenario())
    records = [json.loads(line) for line in kept.splitlines()]
    [first, *_] = [record for record in records if record["kind"] == "sync"]
    assert "networkMap" in first["answer"] or "NetworkMap" in first["answer"]
    assert first["answer"]["netbirdConfig"]["relay"]["tokenPayload"] == "[redacted]"


def _kept(path: str) -> str:
    with zipfile.ZipFile(path) as bundle:
        return bundle.read("served.ndjson").decode()
