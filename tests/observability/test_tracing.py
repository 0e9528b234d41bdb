"""Traces: off by default, refused without their packages, sent to a real collector."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import pytest

from meshmgmt import env
from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.runfolder import clean_environ
from tests.servers import Server, free_port

PYTHON: Final = BASE_DIR / ".venv-otel" / "bin" / "python"
READER: Final = Path(__file__).with_name("otlp_reader.py")
UNUSED: Final = "http://127.0.0.1:4318"
INVITE_TOKEN: Final = "mpt_notarealtoken0123456789"


@pytest.mark.slow
def test_by_default_nothing_of_tracing_is_imported(tmp_path: Path):
    code = (
        "import sys, meshmgmt.wsgi;"
        "print([n for n in sys.modules if 'opentelemetry' in n or 'tracing' in n])"
    )
    environ = {**clean_environ(), "SVC_DATA_DIR": str(tmp_path)}
    done = ran(sys.executable, "-c", code, env=environ, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(
    find_spec("opentelemetry") is not None, reason="this environment has the packages"
)
@pytest.mark.parametrize(
    "command", [["manage.py", "serve"], ["-m", "gunicorn", "meshmgmt.wsgi"]]
)
def test_an_endpoint_without_the_packages_is_refused(
    tmp_path: Path, command: list[str]
):
    named = {"SVC_DATA_DIR": str(tmp_path), "SVC_OTEL_ENDPOINT": UNUSED}
    environ = clean_environ() | named
    done = ran(sys.executable, *command, env=environ, timeout=30)
    assert done.returncode == 2
    assert done.stderr == (
        "SVC_OTEL_ENDPOINT: tracing needs packages that are not installed: "
        "pip install --require-hashes -r requirements/otel.txt\n"
    )


@pytest.mark.parametrize(
    "address", ["localhost:4318", "grpc://host:4317", "http://", "http://u:p@host"]
)
def test_what_is_no_collector_is_named(address: str):
    with pytest.raises(env.ConfigError, match=r"is not http\(s\)://HOST\[:PORT\]"):
        env.load({"SVC_OTEL_ENDPOINT": address})


@contextmanager
def _collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Yield the address of an OTLP/HTTP receiver, and what it got (path, body)."""
    received: list[tuple[str, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append((self.path, body))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", received
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def traced(folder: Path, address: str, **more: Any) -> Iterator[Server]:
    """Yield a server that sends its traces to an address; it ends as it should."""
    if not PYTHON.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{PYTHON} is missing: `make test-slow` installs it")
        pytest.skip("the packages are not installed: `make test-slow` does that")
    server = Server(folder / "var", SVC_OTEL_ENDPOINT=address, **more)
    server.start(str(PYTHON), "manage.py", "serve")
    try:
        yield server
    finally:
        assert server.stop() == 0


def _spans(bodies: list[bytes], folder: Path) -> str:
    """Return the spans received as JSON text, read by OpenTelemetry's own classes."""
    files = [folder / f"{number}.bin" for number in range(len(bodies))]
    for file, body in zip(files, bodies, strict=True):
        file.write_bytes(body)
    return ran(PYTHON, READER, *files, check=True).stdout


@pytest.mark.slow
def test_requests_arrive_at_a_collector_without_secrets(tmp_path: Path):
    with _collector() as (address, received), traced(tmp_path, address) as server:
        answer = server.get(
            f"/api/users/invites/{INVITE_TOKEN}?password={INVITE_TOKEN}",
            Authorization=f"Token {INVITE_TOKEN}",
            traceparent=f"00-{'ab' * 16}-{'cd' * 8}-01",
        )
        server.get("/api/groups", Host="bad host")
        admin = server.get("/admin/", Cookie=f"sessionid={INVITE_TOKEN}")
    assert {path for path, _ in received} == {"/v1/traces"}
    text = _spans([body for _, body in received], tmp_path)
    spans = [line.split("\t") for line in text.splitlines()]
    [asked] = [s for s in spans if answer.headers["x-request-id"] in s[2]]
    assert asked[0] == "GET /api/users/invites/inviteId"
    assert f"http.response.status_code={answer.status}" in asked[2]
    [asked] = [s for s in spans if admin.headers["x-request-id"] in s[2]]
    below = [span for span in spans if span[3] == asked[4]]
    assert "SELECT" in {span[0] for span in below}
    assert any("django_session" in span[2] for span in below)
    assert {span[1] for span in spans} == {"meshmgmt"}
    assert "ab" * 16 not in text, "the caller is no trusted proxy"
    assert any("http.response.status_code=400" in span[2] for span in spans)
    assert INVITE_TOKEN not in text
    assert not any(INVITE_TOKEN.encode() in body for _, body in received)


@pytest.mark.slow
def test_a_trusted_proxy_continues_its_trace(tmp_path: Path):
    with (
        _collector() as (address, received),
        traced(tmp_path, address, SVC_TRUSTED_PROXIES="127.0.0.1") as server,
    ):
        server.get("/api/groups", traceparent=f"00-{'ab' * 16}-{'cd' * 8}-01")
    text = _spans([body for _, body in received], tmp_path)
    continued = [line.split("\t") for line in text.splitlines() if "ab" * 16 in line]
    assert "GET /api/groups" in {span[0] for span in continued}


@pytest.mark.slow
def test_without_its_collector_the_server_answers_and_stops(tmp_path: Path):
    with traced(tmp_path, f"http://127.0.0.1:{free_port()}") as server:
        assert [server.get("/livez").status for _ in range(20)] == [200] * 20
