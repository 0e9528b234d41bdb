"""Where peers find what helps them: signal, STUN, TURN, relay, the receiver of flows.

Credentials are good for LIFETIME seconds; a stream gets new ones in time.
"""

import base64
import hashlib
import hmac
import time
from typing import Final
from urllib.parse import urlsplit

from google.protobuf.duration_pb2 import Duration

from meshmgmt.control.protocol import management_pb2 as pb
from meshmgmt.env import Config

LIFETIME: Final = 12 * 3600
_PORTS: Final = {"http": 80, "https": 443}
# Nobody can connect to "everywhere".
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104


def peer_url(config: Config) -> str:
    """Return the address that peers are told, without a slash at the end."""
    if config.peer_url:
        return config.peer_url
    scheme = "https" if config.grpc_certificate else "http"
    host, _, port = config.grpc_bind.rpartition(":")
    return f"{scheme}://{_EVERYWHERE.get(host, host)}:{port}"


def netbird_config(
    config: Config, now: float | None = None, *, metrics_push: bool = False
) -> pb.NetbirdConfig:
    """Return everything but the flows, which differ from peer to peer."""
    expiry = str(int(time.time() if now is None else now) + LIFETIME)
    message = pb.NetbirdConfig(
        stuns=[
            pb.HostConfig(uri=url, protocol=pb.HostConfig.UDP)
            for url in config.stun_urls
        ],
        turns=[_turn(url, expiry, config.turn_secret) for url in config.turn_urls],
        signal=_signal(peer_url(config)),
        # Figures of their own, which agents send to their maker.
        metrics=pb.MetricsConfig(enabled=metrics_push),
    )
    if config.relay_urls:
        token = relay_credentials(config.relay_secret, expiry)
        message.relay.urls.extend(config.relay_urls)
        message.relay.tokenPayload, message.relay.tokenSignature = token
    return message


def flow_config(
    config: Config, payload: str, signature: str, *, enabled: bool, counters: bool
) -> pb.FlowConfig:
    """Return where a peer reports its traffic, with its own token."""
    assert config.flow_interval is not None
    return pb.FlowConfig(
        url=peer_url(config),
        tokenPayload=payload,
        tokenSignature=signature,
        interval=Duration(seconds=config.flow_interval),
        enabled=enabled,
        counters=counters,
        dnsCollection=True,
        exitNodeCollection=True,
    )


def turn_credentials(secret: str, expiry: str) -> tuple[str, str]:
    """Return user and password (TURN REST API: HMAC-SHA1 of the user's expiry)."""
    digest = hmac.digest(secret.encode(), expiry.encode(), "sha1")
    return expiry, base64.b64encode(digest).decode()


def relay_credentials(secret: str, expiry: str) -> tuple[str, str]:
    """Return payload and signature of a relay's token."""
    key = hashlib.sha256(secret.encode()).digest()
    digest = hmac.digest(key, expiry.encode(), "sha256")
    return expiry, base64.b64encode(digest).decode()


def _turn(url: str, expiry: str, secret: str) -> pb.ProtectedHostConfig:
    user, password = turn_credentials(secret, expiry)
    host = pb.HostConfig(uri=url, protocol=pb.HostConfig.UDP)
    return pb.ProtectedHostConfig(hostConfig=host, user=user, password=password)


def _signal(url: str) -> pb.HostConfig:
    is_secure = urlsplit(url).scheme == "https"
    protocol = pb.HostConfig.HTTPS if is_secure else pb.HostConfig.HTTP
    return pb.HostConfig(uri=host_and_port(url), protocol=protocol)


def host_and_port(url: str) -> str:
    """Return what `http(s)://HOST[:PORT]` names, the address of IPv6 in brackets."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{parts.port or _PORTS[parts.scheme]}"
