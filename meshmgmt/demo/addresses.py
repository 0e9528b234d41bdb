"""Where a server with the given configuration is reached from this machine."""

from dataclasses import dataclass
from typing import Final

from meshmgmt.control.server.netbirdconfig import peer_url
from meshmgmt.env import Config
from meshmgmt.serving import metricsport

_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs for people; behind a unix socket, its name and the paths."""

    api: str
    documentation: str
    admin: str
    metrics: str
    peers: str
    """Empty when peers are not served."""


def addresses(config: Config) -> Addresses:
    """Return the addresses that a server with `config` answers at."""
    base = _base(config.bind)
    metrics = f"{base}/metrics"
    if at := metricsport.address(config):
        metrics = f"http://{_reachable(at[0])}:{at[1]}/metrics"
    return Addresses(
        f"{base}/api",
        f"{base}/api/docs",
        f"{base}/admin/",
        metrics=metrics,
        peers=peer_url(config) if config.grpc_bind else "",
    )


def _base(bind: str) -> str:
    if bind.startswith("unix:"):
        return bind
    host, _, port = bind.rpartition(":")
    return f"http://{_reachable(host)}:{port}"


def _reachable(host: str) -> str:
    """Return `host` as it stands in a URL; a wildcard address means this machine."""
    if ":" in host and not host.startswith("["):
        host = f"[{host}]"
    return _EVERYWHERE.get(host, host)
