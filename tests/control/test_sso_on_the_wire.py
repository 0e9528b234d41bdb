"""What clients are told about signing in, with nothing set but issuer and client id."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.control.services import sso
from meshmgmt.meshstate.loading import load
from tests.control.agents import Agent, awaited, enrolled, until
from tests.control.deployment import Deployment
from tests.factories import account_settings
from tests.oidc_provider import configure
from tests.servers import free_port

CLIENT = "mesh-client"


class Discovery(BaseHTTPRequestHandler):
    """Publishes what a provider with the device flow publishes (RFC 8628, Section 4)."""

    def do_GET(self) -> None:
        issuer = f"http://{self.headers['Host']}"
        document = {
            "issuer": issuer,
            "jwks_uri": f"{issuer}/keys",
            "authorization_endpoint": f"{issuer}/authorize",
            "device_authorization_endpoint": f"{issuer}/device",
            "token_endpoint": f"{issuer}/token",
        }
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def published(port: int = 0) -> Iterator[str]:
    """Let a provider be asked what it offers; yields its issuer."""
    with ThreadingHTTPServer(("127.0.0.1", port), Discovery) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def issuer() -> Iterator[str]:
    with published() as name:
        yield name


@pytest.fixture
def signing_in(upset: Deployment, issuer: str) -> Deployment:
    """A deployment with the two settings that the documentation asks for."""
    upset.restart(SVC_OIDC_ISSUER=issuer, SVC_OIDC_CLIENT_ID=CLIENT)
    return upset


@awaited
async def test_audience_is_the_client_id_in_all_that_clients_are_told(
    signing_in: Deployment, issuer: str
):
    async with enrolled(signing_in, "signed-in") as agent:
        pkce = await agent.call(
            "GetPKCEAuthorizationFlow", pb.Empty(), pb.PKCEAuthorizationFlow
        )
        device = await agent.call(
            "GetDeviceAuthorizationFlow", pb.Empty(), pb.DeviceAuthorizationFlow
        )
        assert pkce.ProviderConfig.AuthorizationEndpoint == f"{issuer}/authorize"
        assert device.ProviderConfig.DeviceAuthEndpoint == f"{issuer}/device"
        for told in (pkce.ProviderConfig, device.ProviderConfig):
            # Each of these, when empty, has the client refuse to begin.
            assert (told.ClientID, told.Audience) == (CLIENT, CLIENT)
            assert told.TokenEndpoint == f"{issuer}/token"
            assert told.Scope
            assert told.UseIDToken
        peer = await asyncio.to_thread(signing_in.peer, "signed-in")
        await asyncio.to_thread(
            signing_in.api, "PUT", f"/peers/{peer['id']}", {"ssh_enabled": True}
        )
        async for message in agent.sync():
            jwt = message.peerConfig.sshConfig.jwtConfig
            assert (jwt.issuer, jwt.audience) == (issuer, CLIENT)
            assert list(jwt.audiences) == [CLIENT]
            assert jwt.keysLocation == f"{issuer}/keys"
            break


@pytest.mark.django_db
def test_maps_say_where_the_keys_are_once_the_provider_was_asked(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("meshmgmt.accounts.oidc.provider.PAUSE_SECONDS", 0.0)
    account_settings()
    port = free_port()
    issuer = f"http://127.0.0.1:{port}"
    configure(settings, issuer)
    usual = f"{issuer}/.well-known/jwks.json"
    assert sso.asked_keys_location() == usual
    with published(port):
        # Who reads the account, maybe under its lock, waits for no provider.
        assert keys_location() == usual
        assert sso.asked_keys_location() == f"{issuer}/keys"
        assert keys_location() == f"{issuer}/keys"
    assert sso.asked_keys_location() == f"{issuer}/keys"


def keys_location() -> str:
    jwt = load().settings.jwt
    assert jwt is not None
    return jwt.keys_location


async def offered(agent: Agent) -> bool:
    """Tell whether the provider is known to offer a sign-in by the browser."""
    flow = pb.PKCEAuthorizationFlow
    with suppress(grpc.aio.AioRpcError):
        return bool(await agent.call("GetPKCEAuthorizationFlow", pb.Empty(), flow))
    return False


@pytest.mark.slow
@awaited
async def test_agents_are_told_where_the_keys_are_once_the_provider_is_back(
    upset: Deployment,
):
    """Also when somebody else has it asked before it is asked for that."""
    port = free_port()
    issuer = f"http://127.0.0.1:{port}"
    upset.restart(SVC_OIDC_ISSUER=issuer, SVC_OIDC_CLIENT_ID=CLIENT)
    async with enrolled(upset, "early") as agent:
        peer = await asyncio.to_thread(upset.peer, "early")
        ssh = {"ssh_enabled": True}
        await asyncio.to_thread(upset.api, "PUT", f"/peers/{peer['id']}", ssh)
        told = []
        with ExitStack() as stack:
            async for message in agent.sync():
                told.append(message.peerConfig.sshConfig.jwtConfig.keysLocation)
                if len(told) == 1:
                    stack.enter_context(published(port))
                    await until(partial(offered, agent))
                elif told[-1] != told[0]:
                    break
        assert told[0] == f"{issuer}/.well-known/jwks.json"
        assert told[-1] == f"{issuer}/keys"
