"""A server whose master was killed leaves nothing that keeps the next one from starting."""

import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from observability.serving import runtime
from tests.observability.servers import (
    HALF_BODY,
    Server,
    children,
    ended,
    half_request,
    until,
)

# The servers have databases of their own: one run of the suite is enough.
pytestmark = pytest.mark.sqlite


def refuses(port: int) -> bool:
    """Tell whether nobody listens."""
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except ConnectionRefusedError:
        return True
    return False


def open_files(pid: int) -> set[str]:
    """Return what the descriptors of a process stand for."""
    return {
        str(descriptor.readlink())
        for descriptor in Path(f"/proc/{pid}/fd").iterdir()
        if descriptor.is_symlink()
    }


def listener_on(port: int) -> str:
    """Return what a descriptor of a listening socket stands for."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1].endswith(f":{port:04X}") and words[3] == "0A":
            return f"socket:[{words[9]}]"
    raise AssertionError(f"nobody listens on port {port}")


def test_each_process_holds_what_it_serves_and_nothing_else(server: Server) -> None:
    until(lambda: server.value("management_http_request_counter_total"), "figures")
    api, metrics = listener_on(server.port), listener_on(server.metrics_port)
    lock = str(server.runtime_dir / runtime.LOCK)
    assert server.process is not None
    assert {api, metrics, lock} <= open_files(server.process.pid)
    for worker in server.workers():
        assert {api, metrics, lock} & open_files(worker) == {api}
    assert {api, metrics, lock} & open_files(server.housekeeper()) == {metrics}


def test_an_open_request_does_not_keep_the_next_server_from_starting(
    folder: Path,
) -> None:
    with Server(folder) as server:
        server.housekeeper()
        with half_request(server.port, HALF_BODY):
            server.get("/livez")  # accepted in order: the worker has both
            orphans = server.kill()
            assert len(orphans) == 2
            assert runtime.running(server.runtime_dir) is None
            server.start()
        until(lambda: all(map(ended, orphans)), "all processes gone")
        until(lambda: "mesh_build_info" in server.scrape(), "the metrics port")
        assert server.get("/readyz").status == 200


def test_an_orphaned_worker_answers_what_it_has_and_takes_nothing_more(
    folder: Path,
) -> None:
    with Server(folder) as server, half_request(server.port) as connection:
        server.get("/livez")
        server.kill()
        until(lambda: refuses(server.port), "a closed port")
        connection.sendall(b"\r\n")
        answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize(
    "patience",
    [
        0.1,
        pytest.param(0.0, marks=pytest.mark.slow),
        pytest.param(0.3, marks=pytest.mark.slow),
        pytest.param(0.8, marks=pytest.mark.slow),
    ],
)
def test_a_housekeeping_process_ends_when_its_master_dies_while_it_starts(
    folder: Path, patience: float
) -> None:
    with Server(folder) as server:
        first = server.housekeeper()
        assert server.process is not None
        master, workers = server.process.pid, server.workers()
        os.kill(first, signal.SIGKILL)
        until(lambda: children(master) - workers - {first}, "another one")
        time.sleep(patience)
        orphans = server.kill()
        server.start()
        until(lambda: all(map(ended, orphans)), "all processes gone")
        assert server.get("/livez").status == 200


def test_a_master_killed_while_its_workers_start_leaves_none(folder: Path) -> None:
    with Server(folder, SVC_WORKERS="2") as server:
        server.kill()
        server.launch()
        assert server.process is not None
        master = server.process.pid
        until(lambda: len(children(master)) == 3, "a housekeeper and two workers")
        orphans = server.kill()
        server.start()
        until(lambda: all(map(ended, orphans)), "all processes gone")


def test_a_taken_runtime_directory_names_the_process_that_runs(tmp_path: Path) -> None:
    (tmp_path / runtime.INFO).write_text(json.dumps({"pid": 4, "kind": "gunicorn"}))
    (tmp_path / runtime.DRAINING).touch()
    holder = runtime.claim(tmp_path)
    with pytest.raises(runtime.Occupied, match=rf"\(process {os.getpid()}\) runs"):
        runtime.claim(tmp_path, patience=0)
    assert runtime.running(tmp_path) is None  # what a dead one said is forgotten
    assert not runtime.is_draining(tmp_path)
    holder.release()


def test_a_server_that_ended_in_order_is_told_from_a_killed_one(tmp_path: Path) -> None:
    first = runtime.claim(tmp_path)
    first.drop()  # as the end of the process does
    second = runtime.claim(tmp_path)
    second.release()
    third = runtime.claim(tmp_path)
    third.release()
    claims = (first, second, third)
    assert [claim.after_kill for claim in claims] == [False, True, False]
