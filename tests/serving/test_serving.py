"""`manage.py serve` and bare gunicorn: start, workers, errors, stop."""

import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Timer

import pytest

from meshmgmt.core import runtime
from meshmgmt.core.locks import locked
from meshmgmt.env import BASE_DIR
from tests.processes import descendants, ended
from tests.servers import GUNICORN, Server, free_port
from tests.waiting import until
from tests.wire import HALF_BODY, half_request, request, value_of

# The servers have databases of their own: one run of the suite is enough.
pytestmark = pytest.mark.sqlite

LIVEZ = 'management_http_request_counter{endpoint="/livez",method="GET"}'
ANSWERED = 'management_http_response_counter{code="200",endpoint="/livez",method="GET"}'


def many(server: Server, count: int) -> None:
    """Send requests on connections of their own, eight at a time."""
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: server.get("/livez").status, range(count)))
    assert set(replies) == {200}


@pytest.mark.slow
def test_probes_are_answered_when_all_threads_are_kept(folder: Path):
    with Server(folder, "--threads", "2") as server, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(half_request(server.port))
        for path in ("/livez", "/metrics", "/readyz"):
            assert server.get(path).status == 200


def test_connections_that_say_nothing_keep_no_thread(server: Server):
    with ExitStack() as stack:
        for _ in range(100):  # which is more than it has threads
            stack.enter_context(half_request(server.port, b""))
        begun = time.monotonic()
        assert server.get("/api/groups").status == 401
        # Each of them once kept a thread for five seconds.
        assert time.monotonic() - begun < 60


def unit_command(name: str) -> list[str]:
    """Return what a unit of production runs, as words of this checkout."""
    text = (BASE_DIR / "deploy" / "systemd" / f"meshmgmt-{name}.service").read_text()
    [command] = re.findall(r"^ExecStart=/opt/meshmgmt/bin/(.*)$", text, re.MULTILINE)
    program, *words = command.split()
    return [sys.executable, *(["manage.py"] if program == "meshmgmt" else []), *words]


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """What the unit of production starts: two workers, here for 100 requests each."""
    server = Server(
        tmp_path_factory.mktemp("units") / "var",
        command=tuple(unit_command("web")),
        SVC_WORKERS="2",
        GUNICORN_CMD_ARGS="--max-requests 100 --max-requests-jitter 0",
    )
    server.start()
    try:
        yield server
    finally:
        assert server.stop() == 0


@contextmanager
def housekeeping(web: Server) -> Iterator[None]:
    """Run what its unit starts beside the one of the workers."""
    process = Server(web.folder)
    process.environ = web.environ
    process.launch(*unit_command("housekeeping"))
    try:
        until(web.scrapes, "the metrics port")
        yield
    finally:
        assert process.stop() == 0


@pytest.mark.slow
def test_killed_and_recycled_workers_lose_no_count_and_leave_no_files(
    web: Server,
):
    with housekeeping(web):
        before = web.scrape()
        first = web.workers()
        many(web, 50)
        victim = min(first)
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(web.workers() - {victim}) == 2, "a new worker")
        sent = 50
        # How requests fall on the two workers is the kernel's choice.
        while first & web.workers():
            assert sent < 1000
            many(web, 50)
            sent += 50
            until(lambda: len(web.workers()) == 2, "both workers")
        after = web.scrape()
        for series in (LIVEZ, ANSWERED, "management_http_request_counter_total"):
            assert value_of(after, series) - value_of(before, series) == sent
        assert value_of(after, "django_http_requests_before_middlewares_total") >= sent
        directory = web.runtime_dir / "metrics"

        def folded() -> bool:
            pids = {f.stem.rpartition("_")[2] for f in directory.glob("*.db")}
            # Asked each time: a worker may end after its answer to the last request.
            live = {*web.workers(), web.housekeeper()}
            return pids - {"folded"} <= {str(pid) for pid in live}

        until(folded, "the files of ended workers gone")
        assert web.value(LIVEZ) - value_of(before, LIVEZ) == sent


@pytest.mark.slow
def test_a_dead_housekeeping_process_is_replaced(folder: Path):
    with Server(folder) as server:
        first = server.housekeeper()
        os.kill(first, signal.SIGKILL)
        until(lambda: server.housekeeper() != first, "another housekeeping process")
        assert until(server.scrapes, "the metrics port")
        assert server.get("/readyz").json["checks"]["housekeeping"] == "ok"


@pytest.mark.slow
def test_a_killed_gunicorn_is_replaced_with_its_workers(folder: Path):
    with Server(folder) as server, half_request(server.port, HALF_BODY):
        first, workers = server.info()["pid"], server.workers()
        os.kill(first, signal.SIGKILL)
        until(lambda: all(map(ended, workers)), "the end of its workers")
        until(lambda: _answers(server), "another gunicorn")
        assert server.info()["pid"] != first
        assert [r for r in server.records(level="error") if "gunicorn" in r["msg"]]


@pytest.mark.slow
def test_children_of_a_killed_serve_end_in_order(folder: Path):
    server = Server(folder).start()
    assert server.process is not None
    family = descendants(server.process.pid)
    assert len(family) == 3
    server.stop(signal.SIGKILL)
    until(lambda: all(map(ended, family)), "the end of its children")
    assert server.records(msg="Shutting down: Master")
    with server:
        assert server.get("/readyz").status == 200


@pytest.mark.slow
def test_all_killed_at_once_leave_room_for_the_next_start(folder: Path):
    with Server(folder) as server:
        server.housekeeper()
        with half_request(server.port, HALF_BODY):
            server.kill()
            assert runtime.running(server.runtime_dir) is None
            server.start()
        until(server.scrapes, "the metrics port")
        assert server.get("/readyz").status == 200


def _answers(server: Server) -> bool:
    try:
        return server.get("/livez").status == 200
    except OSError:
        return False


@pytest.mark.slow
def test_the_units_of_production_are_one_server(web: Server):
    def housekeeping_is() -> str:
        ready = web.get("/readyz")
        assert ready.status == 200
        return str(ready.json["checks"]["housekeeping"])

    many(web, 20)
    until(lambda: len(web.workers()) == 2, "both workers")
    assert web.records(msg="HTTP response", path="/livez", status=200)
    assert value_of(web.get("/metrics").text, LIVEZ) >= 20
    assert housekeeping_is() == "failed"
    with housekeeping(web):
        assert web.value(LIVEZ) >= 20
        until(lambda: web.value("mesh_processes") == 4, "all processes")
        until(lambda: housekeeping_is() == "ok", "readiness")


@pytest.mark.slow
def test_runserver_has_metrics_and_logs_too(folder: Path):
    server = Server(folder)
    address = f"127.0.0.1:{server.port}"
    server.start(sys.executable, "manage.py", "runserver", "--noreload", address)
    try:
        metrics = server.get("/metrics")
        assert metrics.status == 200
        assert value_of(metrics.text, LIVEZ) >= 1
        assert value_of(metrics.text, "process_resident_memory_bytes") > 0
        assert server.records(msg="HTTP response", path="/livez", status=200)
        assert "runserver" not in server.tried("log_level", "debug").stderr
    finally:
        server.stop(signal.SIGTERM)


@pytest.fixture
def occupied() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as holder:
        yield holder.getsockname()[1]


@pytest.mark.slow
def test_a_taken_port_that_was_asked_for_stops_the_start(folder: Path, occupied: int):
    metrics = Server(folder / "one", "--metrics-port", str(occupied))
    api = Server(folder / "two", "--bind", f"127.0.0.1:{occupied}")
    for server in (metrics, api):  # gunicorn tries for five seconds
        server.launch()
    assert (metrics.exit_status(), api.exit_status()) == (2, 1)
    line = f"metrics port {occupied} on 127.0.0.1 cannot be used"
    assert line in metrics.printed()
    assert "--metrics-port or SVC_METRICS_PORT" in metrics.printed()
    assert f"Can't connect to ('127.0.0.1', {occupied})" in api.printed()


def until_held(port: int) -> socket.socket | None:
    """Listen on a port; None when another program keeps it, which is just as good.

    Another run of this suite has it for a few seconds only, so that one is waited for.
    """

    def held() -> socket.socket | None:
        with suppress(OSError):
            return socket.create_server(("127.0.0.1", port))
        return None

    with suppress(AssertionError):
        return until(held, patience=10)
    return None


@pytest.mark.slow
def test_the_default_metrics_port_may_be_taken(folder: Path):
    server = Server(folder)
    del server.environ["SVC_METRICS_PORT"]
    holder = until_held(9090)
    try:
        server.start()
        until(
            lambda: [r for r in server.records(level="warn") if "9090" in r["msg"]],
            "a warning of housekeeping",
        )
        assert value_of(server.get("/metrics").text, LIVEZ) >= 1
    finally:
        server.stop(signal.SIGTERM)
        if holder is not None:
            holder.close()


@pytest.mark.slow
def test_metrics_can_be_switched_off_their_port(folder: Path):
    with Server(folder, "--metrics-port", "off") as server:
        assert value_of(server.get("/metrics").text, LIVEZ) >= 1
        with pytest.raises(ConnectionRefusedError):
            server.scrape()


def test_a_second_server_in_the_same_runtime_directory_is_refused(
    server: Server,
):
    other = Server(server.folder / "other", SVC_RUNTIME_DIR=str(server.runtime_dir))
    assert other.exit_status() == 2
    assert "SVC_RUNTIME_DIR" in other.printed()
    assert server.get("/readyz").status == 200
    assert server.value(LIVEZ) > 0


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--log-level", "loud"), "'loud' is not a log level: use trace, debug, info"),
        (
            ("--log-file", "/proc/nowhere/x.log"),
            "'/proc/nowhere/x.log' is not writable",
        ),
        (("--workers", "none"), "'none' is not a whole number from 1 to 512"),
        (("--metrics-port", "99999"), "'99999' is not a port: use 1 to 65535, or off"),
        (("--bind", "nowhere"), "'nowhere' is not HOST:PORT or unix:PATH"),
    ],
)
def test_an_unusable_flag_ends_the_start_with_one_sentence(
    folder: Path, flags: tuple[str, ...], sentence: str
):
    server = Server(folder, *flags)
    assert server.exit_status() == 2
    [line] = server.printed().splitlines()
    assert sentence in line


@pytest.mark.parametrize("host", ["10.0.0.5:8000", "[2001:db8::1]", "localhost"])
def test_probes_answer_to_any_address_and_to_no_name_of_others(
    server: Server, host: str
):
    for path in ("/livez", "/readyz", "/health", "/metrics"):
        assert server.get(path, Host=host).status == 200
        assert server.get(path, Host="evil.test").status == 400
    for other in ("10.0.0.5:8000", "evil.test"):
        refused = server.get("/api/instance", Host=other)
        assert (refused.status, "SVC_ALLOWED_HOSTS" in refused.text) == (400, True)


@pytest.mark.slow
def test_workers_of_a_master_that_loaded_the_program_count_together(folder: Path):
    preloading = (*GUNICORN, "--preload")
    with Server(folder, command=preloading, SVC_WORKERS="2") as server:
        many(server, 40)
        assert value_of(server.get("/metrics").text, LIVEZ) >= 40


def test_heads_of_all_kinds_are_those_of_get_and_warn_nobody(server: Server):
    for path, status in (
        ("/livez", 200),
        ("/api/schema", 200),
        ("/static/adminsite/admin.css", 200),
        ("/api/groups", 401),
        ("/api/none", 404),
    ):
        head, get = server.get(path, method="HEAD"), server.get(path)
        assert (head.status, get.status, head.body) == (status, status, b"")
        assert head.headers["content-length"] == get.headers["content-length"]
    assert "no-body response" not in server.printed()


def test_no_header_of_a_client_moves_the_pages_to_another_path(server: Server):
    for name in ("SCRIPT_NAME", "Script-Name", "PATH_INFO"):
        reply = request(server.port, "/x/livez", **{name: "/x"})
        assert reply.status == 404
        reply = request(server.port, "/livez", **{name: "/x"})
        assert reply.status == 200


def test_a_server_has_no_name_that_only_tests_use(server: Server):
    assert request(server.port, "/livez", Host="testserver").status == 400


def test_the_metrics_port_answers_metrics_alone(server: Server):
    assert request(server.metrics_port, "/other").status == 404
    assert request(server.metrics_port, "/metrics", "HEAD").body == b""
    assert request(server.metrics_port, "/metrics?x=1").status == 200
    for method in ("POST", "TRACE", "BREW"):
        refused = request(server.metrics_port, "/metrics", method)
        assert (refused.status, refused.json["code"]) == (405, 405)
        assert refused.headers["allow"] == "GET, HEAD"
    openmetrics = request(
        server.metrics_port, "/metrics", Accept="application/openmetrics-text"
    )
    assert openmetrics.headers["content-type"].startswith("text/plain; version=0.0.4")


@pytest.mark.slow
def test_readiness_is_withdrawn_before_the_listeners_close(folder: Path):
    with Server(folder, SVC_DRAIN_SECONDS="5") as server:
        assert server.get("/readyz").status == 200
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.get("/readyz").status == 503, "readiness withdrawn")
        reply = server.get("/readyz")
        assert reply.json["checks"]["draining"] == "failed"
        assert server.get("/livez").status == 200
        assert server.exit_status() == 0
        with pytest.raises(ConnectionRefusedError):
            server.get("/livez")


@pytest.mark.slow
def test_a_second_term_ends_the_drain(folder: Path):
    with Server(folder, SVC_DRAIN_SECONDS="60") as server:
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.get("/readyz").status == 503, "readiness withdrawn")
        assert server.stop(signal.SIGTERM) == 0


def over_socket(path: Path, target: str) -> bytes:
    """Return the head of an answer over a unix socket, empty where none listens yet."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return b""
        client.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        return client.recv(12)


@pytest.mark.slow
def test_a_unix_socket_can_be_bound(folder: Path):
    path = folder / "api.sock"
    server = Server(folder, "--bind", f"unix:{path}")
    server.launch()
    try:
        until(lambda: over_socket(path, "/livez").endswith(b"200"), "an answer")
        # Nothing says where a caller over the socket comes from.
        assert over_socket(path, "/metrics").endswith(b"404")
        until(server.scrapes, "the metrics port")
        assert free_port() != server.metrics_port
    finally:
        server.stop(signal.SIGTERM)


def test_who_looks_for_a_server_keeps_none_from_starting(tmp_path: Path):
    with ExitStack() as looking:
        looking.enter_context(locked(tmp_path / runtime.LOCK, shared=True))
        Timer(0.02, looking.close).start()
        os.close(runtime.claim(tmp_path))


def test_a_taken_runtime_directory_names_the_process_that_runs(tmp_path: Path):
    (tmp_path / runtime.INFO).write_text("{}")
    (tmp_path / runtime.DRAINING).touch()
    holder = runtime.claim(tmp_path)
    with pytest.raises(runtime.Occupied, match=rf"\(process {os.getpid()}\) runs"):
        runtime.claim(tmp_path)
    assert runtime.running(tmp_path) is None  # what a dead one said is forgotten
    assert not runtime.is_draining(tmp_path)
    os.close(holder)
    os.close(runtime.claim(tmp_path))


def test_a_server_of_another_version_is_told_of_as_far_as_it_is_known(
    tmp_path: Path,
):
    holder = runtime.claim(tmp_path)
    runtime.write_json(tmp_path / runtime.INFO, {"pid": 7, "colour": "red"})
    found = runtime.running(tmp_path)
    assert found is not None
    assert (found.pid, found.bind) == (7, "")
    os.close(holder)
