"""What clients are told about signing in, with nothing set but issuer and client id."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from meshmgmt.control.protocol import management_pb2 as pb
from tests.control.agents import awaited, enrolled
from tests.control.deployment import Deployment

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


@pytest.fixture
def issuer() -> Iterator[str]:
    """The issuer of a provider that can be asked what it offers."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Discovery) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


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
