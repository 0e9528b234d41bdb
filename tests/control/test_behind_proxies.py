"""API and peers behind one TLS port: the shipped configurations in real proxies."""

import asyncio
import socket
import ssl
import urllib.request
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit

import pytest
import trustme

from meshmgmt.env import BASE_DIR
from tests.control.agents import Agent, followed, names, run, until
from tests.control.deployment import Deployment, deployed
from tests.nginx import SHIPPED_HOST, nginx
from tests.programs import program, running
from tests.servers import GUNICORN, free_port
from tests.waiting import PATIENCE

T = TypeVar("T")

SLOW: Final = 40
"""More than a server has threads."""
CHOSEN: Final = "chosen-by-a-client"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    """Return an authority of the tests' own."""
    return trustme.CA()


@pytest.fixture(scope="module")
def behind(tmp_path_factory) -> Iterator[Deployment]:
    """Yield a deployment that trusts the proxies before it."""
    extra = {"SVC_TRUSTED_PROXIES": "127.0.0.1", "SVC_ALLOWED_HOSTS": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("peers") / "var"
    with deployed(folder, extra, command=GUNICORN) as deployment:
        yield deployment


def certificate(authority: trustme.CA, folder: Path) -> tuple[Path, Path]:
    """Write a certificate for the tests' names; return its file and the key's."""
    made = authority.issue_cert("localhost", "::1")
    chain, key = folder / "chain.pem", folder / "key.pem"
    for blob in made.cert_chain_pems:
        blob.write_to_path(chain, append=True)
    made.private_key_pem.write_to_path(key)
    return chain, key


def caddy_text(deployment: Deployment, port: int, files: tuple[Path, Path]) -> str:
    """Return the shipped configuration, with the addresses of this test."""
    text = (BASE_DIR / "deploy" / "caddy" / "Caddyfile").read_text()
    head = "\n{\n\tadmin off\n\tauto_https off\n}\n"
    head += f"https://[::1]:{port} {{\n\tbind ::1\n\ttls {files[0]} {files[1]}"
    text = text.replace(f"\n{SHIPPED_HOST} {{", head)
    text = text.replace("127.0.0.1:8000", f"127.0.0.1:{deployment.server.port}")
    return text.replace("127.0.0.1:33073", deployment.bind)


@pytest.fixture(params=["nginx", "caddy"])
def url(
    request: pytest.FixtureRequest,
    behind: Deployment,
    authority: trustme.CA,
    tmp_path: Path,
) -> Iterator[str]:
    """Yield the address of the one port of each proxy."""
    port = free_port()
    files = certificate(authority, tmp_path)
    if request.param == "nginx":
        apis = [f"127.0.0.1:{behind.server.port}"]
        listen = f"[::1]:{port} ssl http2"
        proxy = nginx(tmp_path, listen, apis, [behind.bind], files=files)
    else:
        config = tmp_path / "Caddyfile"
        config.write_text(caddy_text(behind, port, files))
        command = [program("caddy"), "run", "--adapter", "caddyfile"]
        command += ["--config", str(config)]
        proxy = running(command, port, tmp_path, "::1")
    with proxy:
        yield f"https://[::1]:{port}"


@pytest.mark.slow
def test_one_port_serves_the_api_and_peers(
    url: str, behind: Deployment, authority: trustme.CA
):
    roots = authority.cert_pem.bytes()

    async def scenario() -> None:
        key = behind.setup_key()
        async with (
            Agent(url, hostname="inner", roots=roots) as inner,
            Agent(url, hostname="outer", roots=roots) as outer,
        ):
            await inner.login(key)
            await outer.login(key)
            async with followed(inner) as seen, followed(outer):
                await until(lambda: "outer" in names(seen))
                ears = await flushed(outer, outer.connect_signal())
                await inner.send_signal(outer.public_key, b"through the proxy")
                assert (await ears.read()).body == b"through the proxy"
                job = inner.job()
                await flushed(inner, job.initial_metadata())
                peer = await asyncio.to_thread(behind.peer, "outer")
                assert peer["connection_ip"] == "::1"  # as the proxy says
                await asyncio.to_thread(behind.api, "DELETE", f"/peers/{peer['id']}")
                await until(lambda: "outer" not in names(seen))

    run(scenario())
    assert api_answers(url, behind, roots)


async def flushed(agent: Agent, opening: Awaitable[T]) -> T:
    """Return what opening a silent stream gives.

    nginx keeps headers without data in its TLS buffer until it writes to the connection
    again; an agent's next keepalive would do, half a minute later.
    """
    opened = asyncio.ensure_future(opening)
    while not opened.done():
        await agent.server_box()
        await asyncio.wait([opened], timeout=0.1)
    return opened.result()


def api_answers(url: str, deployment: Deployment, roots: bytes) -> bool:
    """Tell whether the API answers behind the same port."""
    trust = ssl.create_default_context(cadata=roots.decode())
    headers = {"Authorization": f"Token {deployment.token}", "Host": "127.0.0.1"}
    headers["X-Request-Id"] = CHOSEN
    request = urllib.request.Request(f"{url}/api/groups", headers=headers)  # noqa: S310
    with urllib.request.urlopen(request, timeout=PATIENCE, context=trust) as answer:  # noqa: S310
        assert answer.headers["X-Request-Id"] != CHOSEN
        return bool(answer.status == 200)


@pytest.mark.slow
def test_slow_clients_keep_nobody_waiting_and_no_client_chooses_an_id(
    url: str, behind: Deployment, authority: trustme.CA
):
    roots = authority.cert_pem.bytes()
    trust = ssl.create_default_context(cadata=roots.decode())
    port = urlsplit(url).port or 0
    head = (
        b"POST /api/groups HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"
    )
    with ExitStack() as stack:
        for _ in range(SLOW):
            plain = socket.create_connection(("::1", port), PATIENCE)
            slow = trust.wrap_socket(plain, server_hostname="::1")
            stack.enter_context(slow).sendall(head)
        assert api_answers(url, behind, roots)


def test_tls_of_its_own_follows_renewed_certificates(
    behind: Deployment, tmp_path: Path
):
    authority = trustme.CA()
    chain, key = certificate(authority, tmp_path)

    async def fetch(authority: trustme.CA) -> None:
        url, roots = f"https://localhost:{behind.port}", authority.cert_pem.bytes()
        async with Agent(url, roots=roots) as agent:
            await agent.server_box()

    behind.stop()
    behind.tls = authority.cert_pem.bytes()
    behind.start(SVC_GRPC_CERTIFICATE=str(chain), SVC_GRPC_KEY=str(key))
    try:
        run(fetch(authority))
        renewed = trustme.CA()
        chain.unlink()
        certificate(renewed, tmp_path)
        behind.tls = renewed.cert_pem.bytes()
        run(fetch(renewed))
    finally:
        behind.tls = b""
        behind.restart()
