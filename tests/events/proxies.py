"""Real reverse proxies, and requests whose entries are known."""

import base64
import http.client
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.programs import program, running

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
daemon off; user root;
pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1;
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
        head = b"GET /user HTTP/1.0\r\nHost: a.test\r\nAuthorization: Basic "
        assert answer(head + login + b"\r\n\r\n", port) == 404
    told = [(method, host, path) for _, _, method, host, path in ODD_REQUESTS]
    return sorted(told + [("GET", "a.test", "/user")] * len(USERS))


@contextmanager
def running_nginx(folder: Path, port: int) -> Iterator[None]:
    """Run an nginx that writes `json.log` and `combined.log` into `folder`."""
    config = folder / "nginx.conf"
    config.write_text(NGINX.format(folder=folder, port=port))
    command = [program("nginx"), "-p", str(folder), "-c", str(config)]
    with running(command, port, folder):
        yield


@contextmanager
def running_caddy(folder: Path, port: int) -> Iterator[None]:
    """Run a Caddy that writes `caddy.log` into `folder`."""
    config = folder / "Caddyfile"
    config.write_text(CADDY.format(folder=folder, port=port))
    command = [program("caddy"), "run", "--config", str(config)]
    with running([*command, "--adapter", "caddyfile"], port, folder):
        yield
