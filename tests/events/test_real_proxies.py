"""Requests made to a real nginx and a real Caddy come out of their logs as made."""

import base64
import http.client
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Final

import pytest
from django.core.management import call_command
from django.db import connection

from events.models import ProxyEntry
from tests.servers import POLL_SECONDS, START_SECONDS, free_port

pytestmark = pytest.mark.django_db

# Method, target, body, status, length of the answer.
REQUESTS: Final = [
    ("GET", "/", "", 200, 5),
    ("GET", "/missing", "", 404, 2),
    ("POST", "/", "some body", 200, 5),
    ("GET", "/secret?token=abc", "", 401, 6),
    ("HEAD", "/", "", 200, 0),
    ("GET", "/caf%C3%A9/%22x%22", "", 404, 2),
    ("DELETE", "/gone", "", 404, 2),
]

# What clients send that an entry cannot hold as it is, each answered as served:
# the bytes of a request line, more header lines, and method, host and path of its entry.
ODD_REQUESTS: Final[list[tuple[bytes, bytes, str, str, str]]] = [
    (b"GET /bad\xff\xfe", b"", "GET", "a.test", "/bad\ufffd\ufffd"),
    (b"GET /" + b"p" * 9000, b"", "GET", "a.test", "/" + "p" * 8191),
    (b"GET http://Abs.test/p?token=1", b"", "GET", "abs.test", "/p"),
    (b"GET /host", b"B.Test:80", "GET", "b.test", "/host"),
    (b"GET /six", b"[::1]:80", "GET", "::1", "/six"),
    (b"GET /long", b"h" * 300, "GET", "h" * 255, "/long"),
]
USERS: Final = [b"j\xf6rg", b"a\0b", b"u" * 200, b'jo e [x] "q"']

NGINX: Final = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 64; }}
http {{
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi; default_type text/plain;
  log_format mesh escape=json '{{"msec":"$msec","request_id":"$request_id",'
    '"request_method":"$request_method","host":"$host","request_uri":"$request_uri",'
    '"request":"$request","status":"$status","request_time":"$request_time",'
    '"body_bytes_sent":"$body_bytes_sent","request_length":"$request_length",'
    '"remote_addr":"$remote_addr","remote_user":"$remote_user"}}';
  access_log {folder}/json.log mesh;
  access_log {folder}/combined.log combined;
  large_client_header_buffers 4 32k;
  server {{
    listen 127.0.0.1:{port};
    listen unix:{folder}/socket;
    location = / {{ return 200 "hello"; }}
    location = /secret {{ return 401 "denied"; }}
    location / {{ return 404 "no"; }}
  }}
}}
"""

CADDY: Final = """
{{
  admin off
  auto_https off
}}
http://:{port} {{
  log {{
    output file {folder}/caddy.log
    format json
  }}
  respond / "hello" 200
  respond /secret "denied" 401
  respond "no" 404
}}
"""


def program(name: str) -> str:
    """Return the path of a proxy; it may be absent outside of the CI alone."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


@contextmanager
def running(command: list[str], port: int, folder: Path) -> Iterator[None]:
    """Run a proxy until the block ends, then let it finish its log."""
    with (folder / "output").open("wb") as output:
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment
        )
    deadline = time.monotonic() + START_SECONDS
    try:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                break
            except OSError:
                log = (folder / "output").read_text()
                assert process.poll() is None, log
                assert time.monotonic() < deadline, log
                time.sleep(POLL_SECONDS)
        yield
    finally:
        process.terminate()
        process.wait(20)


def make_requests(port: int) -> None:
    """Make the requests and check what came back."""
    for method, target, body, status, length in REQUESTS:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        client.request(method, target, body or None)
        answer = client.getresponse()
        assert (answer.status, len(answer.read())) == (status, length)
        client.close()


def answer(request: bytes, port: int, path: Path | None = None) -> int:
    """Send the bytes of a request; return the status of the answer."""
    target = str(path) if path else ("127.0.0.1", port)
    with socket.socket(socket.AF_UNIX if path else socket.AF_INET) as client:
        client.settimeout(10)
        client.connect(target)
        client.sendall(request)
        return int(client.makefile("rb").readline().split()[1])


def make_odd_requests(port: int) -> list[tuple[str, str, str]]:
    """Make the odd requests; return method, host and path of their entries."""
    for line, host, *_ in ODD_REQUESTS:
        head = line + b" HTTP/1.1\r\nConnection: close\r\nHost: "
        assert answer(head + (host or b"a.test") + b"\r\n\r\n", port) == 404
    for user in USERS:
        login = base64.b64encode(user + b":secret")
        assert (
            answer(
                b"GET /user HTTP/1.0\r\nHost: a.test\r\nAuthorization: Basic %s\r\n\r\n"
                % login,
                port,
            )
            == 404
        )
    told = [(method, host, path) for _, _, method, host, path in ODD_REQUESTS]
    return sorted(told + [("GET", "a.test", "/user")] * len(USERS))


def odd_entries(log: Path, form: str, count: int) -> list[ProxyEntry]:
    """Store a log of odd requests, none of which may be refused."""
    out = StringIO()
    call_command("ingest", "proxy", str(log), format=form, stdout=out)
    assert (
        out.getvalue() == f"{count} lines: {count} stored, 0 known already, 0 wrong\n"
    )
    return list(ProxyEntry.objects.all())


def ingested(log: Path, form: str) -> list[tuple[str, str, int, int]]:
    """Store a log, twice, and return method, path, status and length in its order."""
    count = len(REQUESTS)
    for told in (f"{count} stored, 0 known", f"0 stored, {count} known"):
        out = StringIO()
        call_command("ingest", "proxy", str(log), format=form, stdout=out)
        assert out.getvalue() == f"{count} lines: {told} already, 0 wrong\n"
    # Times are as fine as the log's; the sequence of equal ones is not kept.
    return sorted(
        (entry.method, entry.path, entry.status_code, entry.bytes_download)
        for entry in ProxyEntry.objects.all()
    )


def expected(*, of_head: int = 0) -> list[tuple[str, str, int, int]]:
    """Return what the entries should say; `of_head` is what the log says for HEAD."""
    return sorted(
        (
            method,
            target.partition("?")[0],
            status,
            of_head if method == "HEAD" else length,
        )
        for method, target, _, status, length in REQUESTS
    )


@pytest.fixture
def nginx_logs(tmp_path: Path) -> Path:
    """Return the folder with the logs of an nginx that served the requests."""
    nginx = program("nginx")
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, port=port))
    with running([nginx, "-p", str(tmp_path), "-c", str(config)], port, tmp_path):
        make_requests(port)
    return tmp_path


def test_nginx_json_log(nginx_logs: Path) -> None:
    assert ingested(nginx_logs / "json.log", "nginx") == expected()
    for entry in ProxyEntry.objects.all():
        assert (entry.host, entry.source_ip) == ("127.0.0.1", "127.0.0.1")
        assert entry.bytes_upload > 0


def test_nginx_combined_log(nginx_logs: Path) -> None:
    assert ingested(nginx_logs / "combined.log", "nginx") == expected()


def test_caddy_log(tmp_path: Path) -> None:
    caddy = program("caddy")
    port = free_port()
    config = tmp_path / "Caddyfile"
    config.write_text(CADDY.format(folder=tmp_path, port=port))
    command = [caddy, "run", "--config", str(config), "--adapter", "caddyfile"]
    with running(command, port, tmp_path):
        make_requests(port)
    # Caddy logs what the handler wrote, though HEAD sends none of it.
    assert ingested(tmp_path / "caddy.log", "caddy") == expected(of_head=5)
    assert {entry.host for entry in ProxyEntry.objects.all()} == {"127.0.0.1"}


def test_nginx_stores_whatever_clients_send(tmp_path: Path) -> None:
    nginx = program("nginx")
    port = free_port()
    config = tmp_path / "nginx.conf"
    config.write_text(NGINX.format(folder=tmp_path, port=port))
    malformed = b"GET /a\0b HTTP/1.1\r\nHost: a.test\r\n\r\n"
    local = b"GET /local HTTP/1.0\r\nHost: a.test\r\n\r\n"
    with running([nginx, "-p", str(tmp_path), "-c", str(config)], port, tmp_path):
        told = make_odd_requests(port)
        assert answer(malformed, port) == 400
        assert answer(local, port, tmp_path / "socket") == 404
    told = sorted([*told, ("GET", "", "/a\ufffdb"), ("GET", "a.test", "/local")])
    entries = odd_entries(tmp_path / "json.log", "nginx", len(told))
    assert sorted((e.method, e.host, e.path) for e in entries) == told
    users = {entry.user_id for entry in entries if entry.path == "/user"}
    assert users == {"j\ufffdrg", "a\ufffdb", "u" * 128, 'jo e [x] "q"'}
    assert [entry.source_ip for entry in entries if entry.path == "/local"] == [""]
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM events_proxyentry")
    # The other format says the same but for the hosts, which it knows from targets only.
    entries = odd_entries(tmp_path / "combined.log", "nginx", len(told))
    assert sorted((e.method, e.path) for e in entries) == sorted(
        (method, path) for method, _, path in told
    )
    assert {entry.user_id for entry in entries if entry.path == "/user"} == users


def test_caddy_stores_whatever_clients_send(tmp_path: Path) -> None:
    caddy = program("caddy")
    port = free_port()
    config = tmp_path / "Caddyfile"
    config.write_text(CADDY.format(folder=tmp_path, port=port))
    command = [caddy, "run", "--config", str(config), "--adapter", "caddyfile"]
    with running(command, port, tmp_path):
        told = make_odd_requests(port)
    entries = odd_entries(tmp_path / "caddy.log", "caddy", len(told))
    assert sorted((e.method, e.host, e.path) for e in entries) == told
