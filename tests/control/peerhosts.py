"""Processes for peers on hosts of their own over one PostgreSQL, behind nginx."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.control.deployment import Deployment
from tests.namespaces import Namespace
from tests.nginx import nginx
from tests.pgbouncer import through_the_socket
from tests.servers import Server, free_port

NETWORK: Final = f"10.{64 + os.getpid() % 64}"


@dataclass
class PeerHost(Deployment):
    """A process for peers on a machine of its own."""

    machine: Namespace = field(kw_only=True)

    @property
    def connected(self) -> int:
        """How many peers have their stream there, as the process last said."""
        path = Path(self.settings["SVC_RUNTIME_DIR"]) / "peers.json"
        facts: dict[str, Any] = json.loads(path.read_text())
        return int(facts["connected"])

    def kill(self) -> None:
        """End everything on the machine at once."""
        assert self.process is not None
        self.machine.kill()
        self.process.wait()
        self.process = None


@contextmanager
def peer_host(server: Server, number: int) -> Iterator[PeerHost]:
    """Yield a started host, with what it shares with the server that has the API."""
    machine = Namespace(number, NETWORK)
    settings = {
        "SVC_RUNTIME_DIR": str(server.folder / f"host-{number}"),
        "SVC_DATABASE_URL": through_the_socket(server.database_url),
        "SVC_TRUSTED_PROXIES": machine.outside,
    }
    host = PeerHost(server, settings=settings, machine=machine)
    host.address, host.within = machine.address, machine.within
    with machine.connected():
        host.start()
        try:
            yield host
        finally:
            if host.process is not None:
                host.stop(signal.SIGINT)


@contextmanager
def nginx_before(folder: Path, hosts: Sequence[PeerHost]) -> Iterator[str]:
    """Yield where agents connect, without TLS."""
    folder.mkdir()
    port = free_port()
    apis = [f"127.0.0.1:{hosts[0].server.port}"]
    peers = [host.bind for host in hosts]
    with nginx(folder, f"127.0.0.1:{port} http2", apis, peers):
        yield f"http://127.0.0.1:{port}"
