"""The shipped nginx in front of a server and of processes for peers."""

import getpass
import json
import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, Final

import trustme

from meshmgmt.env import BASE_DIR
from tests.programs import program, running
from tests.servers import free_port
from tests.waiting import PATIENCE

HOST: Final = "localhost"
PROXIED: Final = {
    "SVC_ALLOWED_HOSTS": f"{HOST},127.0.0.1",
    "SVC_TRUSTED_PROXIES": "127.0.0.1",
}
"""Settings of a server that is behind it."""
SHIPPED_HOST: Final = "mesh.company"
_MAIN: Final = """
user {user}; daemon off; worker_processes 1;
pid {folder}/nginx.pid; error_log {folder}/error.log;
worker_rlimit_nofile 32768;
events {{ worker_connections 16384; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  {shipped}
}}
"""


@dataclass(frozen=True)
class Proxied:
    """The service behind nginx, spoken to over TLS."""

    port: int
    plain_port: int
    trust: ssl.SSLContext
    token: str
    source: str = "127.0.0.1"
    """The address of the client, by which nginx counts."""

    def plain(self) -> socket.socket:
        """Return a connection on which nothing was said, not even TLS."""
        there, here = ("127.0.0.1", self.port), (self.source, 0)
        return socket.create_connection(there, PATIENCE, here)

    def secure(self) -> ssl.SSLSocket:
        """Return a connection after the handshake."""
        return self.trust.wrap_socket(self.plain(), server_hostname=HOST)

    def head(self, start: str, *lines: str) -> bytes:
        """Return the head of a request with a token."""
        known = (
            f"{start} HTTP/1.1",
            f"Host: {HOST}",
            f"Authorization: Token {self.token}",
        )
        return "\r\n".join((*known, *lines, "", "")).encode()

    def ask(self, data: bytes) -> tuple[int, Any]:
        """Send the bytes of a request; return status and document of the answer."""
        status, _, text = self.headed(data)
        return status, json.loads(text)

    def headed(self, data: bytes) -> tuple[int, Message, bytes]:
        """Send the bytes of a request; return status, headers and body."""
        with self.secure() as connection:
            connection.sendall(data)
            answer = HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.headers, answer.read()

    def assert_answers(self) -> None:
        """Every thread of the service is free to answer."""
        for _ in range(10):
            status, groups = self.ask(self.head("GET /api/groups"))
            assert status == 200
            assert groups[0]["name"] == "All"
        body = b'[{"id": "one", "host": "h"}]'
        post = self.head("POST /api/events/proxy", f"Content-Length: {len(body)}")
        assert self.ask(post + body)[0] == 200


@contextmanager
def proxying(folder: Path, apis: Sequence[str], token: str) -> Iterator[Proxied]:
    """Yield nginx with a certificate of its own before servers, each `HOST:PORT`."""
    authority, pair = trustme.CA(), folder / "pair.pem"
    authority.issue_cert(HOST).private_key_and_cert_chain_pem.write_to_path(pair)
    trust = ssl.create_default_context()
    authority.configure_trust(trust)
    port, plain_port = free_port(), free_port()
    listen = f"127.0.0.1:{port} ssl"
    with nginx(folder, listen, apis, files=(pair, pair), plain_port=plain_port):
        yield Proxied(port, plain_port, trust, token)


@contextmanager
def nginx(
    folder: Path,
    listen: str,
    apis: Sequence[str],
    peers: Sequence[str] = ("127.0.0.1:33073",),
    *,
    files: tuple[Path, Path] | None = None,
    plain_port: int = 0,
) -> Iterator[None]:
    """Run nginx by the shipped configuration, with the addresses of a test.

    `listen` is what it listens on; `apis` and `peers` are what is behind it, each
    `HOST:PORT`; `files` are a certificate and its key, None where `listen` has no TLS.
    """
    shipped = BASE_DIR / "deploy" / "nginx"
    text = (shipped / "meshmgmt.conf").read_text()
    included = (shipped / "peers.conf").read_text()
    text = text.replace("    location / {", f"{included}\n    location / {{", 1)
    chain, key = files or ("", "")
    replaced = {
        r"listen 443 ssl[^;]*;": f"listen {listen};",
        r"listen 80;": f"listen 127.0.0.1:{plain_port or free_port()};",
        r"ssl_certificate [^;]*;": f"ssl_certificate {chain};" if files else "",
        r"ssl_certificate_key [^;]*;": f"ssl_certificate_key {key};" if files else "",
        r"server 127\.0\.0\.1:8000;": _servers(apis),
        r"server 127\.0\.0\.1:33073;": _servers(peers),
        SHIPPED_HOST.replace(".", r"\."): HOST,
    }
    for pattern, ours in replaced.items():
        text, count = re.subn(pattern, ours, text)
        assert count, pattern
    path = folder / "nginx.conf"
    path.write_text(_MAIN.format(folder=folder, user=getpass.getuser(), shipped=text))
    host, _, port = listen.split(maxsplit=1)[0].rpartition(":")
    command = [program("nginx"), "-c", str(path), "-e", f"{folder}/error.log"]
    with running(command, int(port), folder, host.strip("[]")):
        yield


def _servers(addresses: Sequence[str]) -> str:
    return " ".join(f"server {address};" for address in addresses)
