"""A deployment with its API and its peers' port, and agents that talk to it."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from meshmgmt.env import BASE_DIR
from tests.programs import ran
from tests.servers import Server, free_port, running_server
from tests.waiting import until

START_SECONDS: Final = 90.0


class RefusedByApi(AssertionError):
    """The API answered with an error."""


@dataclass
class Deployment:
    """One server with one process for peers."""

    server: Server
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None
    settings: dict[str, str] = field(default_factory=dict)
    """What each start of the process for peers is told."""
    tls: bytes = b""
    """PEM roots when the port has TLS of its own; its name is localhost then."""
    address: str = "127.0.0.1"
    within: tuple[str, ...] = ()
    """Begins the command of the process for peers: where it runs."""
    usual: bool = True
    """Whether the next test may use the process for peers as well."""

    @property
    def token(self) -> str:
        """What the owner calls the API with."""
        return self.server.token

    @property
    def bind(self) -> str:
        """The address of the peers' port."""
        return f"{self.address}:{self.port}"

    @property
    def url(self) -> str:
        """Where peers connect."""
        return f"http://{self.bind}"

    @property
    def log_path(self) -> Path:
        """What the process for peers wrote."""
        return self.server.folder / "peers.log"

    def start(self, **extra: str) -> None:
        """Start the process for peers and wait until it serves."""
        self.usual = not extra
        settings = {"SVC_GRPC_BIND": self.bind, **self.settings, **extra}
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, sys.executable, "manage.py", "serve_peers"],
                cwd=BASE_DIR,
                env={**self.server.environ, **settings},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        until(self._runs_and_serves, self.log, START_SECONDS)

    def _runs_and_serves(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log()
        return self.serves()

    def serves(self) -> bool:
        """Tell whether the health service says so."""
        with self._channel() as channel:
            check = health_pb2_grpc.HealthStub(channel).Check
            try:
                answer = check(health_pb2.HealthCheckRequest(), timeout=5)
            except grpc.RpcError:
                return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)

    def _channel(self) -> grpc.Channel:
        if not self.tls:
            return grpc.insecure_channel(self.bind)
        trust = grpc.ssl_channel_credentials(self.tls)
        return grpc.secure_channel(f"localhost:{self.port}", trust)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the process for peers; return its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        status = self.process.wait(30)
        self.process = None
        return status

    def restart(self, **extra: str) -> None:
        """Start the process for peers anew, however the old one fares."""
        if self.process is not None:
            self.stop(signal.SIGINT)
        self.start(**extra)

    def log(self) -> str:
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API as its owner. Raises RefusedByApi."""
        reply = self.server.call(method, f"/api{path}", body)
        if reply.status != 200:
            raise RefusedByApi(f"{method} {path}: {reply.text}")
        return reply.json

    def setup_key(self, **facts: Any) -> str:
        """Create a setup key, reusable for a day, and return it."""
        wanted = {"name": "k", "type": "reusable", "expires_in": 86400, **facts}
        return str(self.api("POST", "/setup-keys", wanted)["key"])

    def peer(self, hostname: str) -> dict[str, Any]:
        """Return the newest peer of that host name as the API shows it."""
        found = [p for p in self.api("GET", "/peers") if p["hostname"] == hostname]
        return dict(found[-1])

    def metrics(self) -> dict[str, float]:
        """Return the samples of the server's metrics."""
        lines = self.server.get("/metrics").text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}


@contextmanager
def deployed(
    folder: Path,
    extra: Mapping[str, str] | None = None,
    *,
    everybody_allowed: bool = True,
    command: tuple[str, ...] = (),
    content: str = "owner",
) -> Iterator[Deployment]:
    """Yield a running deployment over an empty account whose peers see each other."""
    with running_server(folder, extra, content, command) as server:
        deployment = Deployment(server)
        if everybody_allowed:
            allow_everything(deployment)
        deployment.start()
        try:
            yield deployment
        finally:
            if deployment.process is not None:
                deployment.stop(signal.SIGINT)


def allow_everything(deployment: Deployment) -> None:
    """Let all peers reach each other, unless a policy says so already."""
    if deployment.api("GET", "/policies"):
        return
    everybody = deployment.api("GET", "/groups?name=All")[0]["id"]
    deployment.api("POST", "/policies", open_policy(everybody))


def open_policy(everybody: str) -> dict[str, Any]:
    """Return a policy that lets the members of a group begin anything with each other."""
    ends = {"sources": [everybody], "destinations": [everybody]}
    rule = {"name": "all", "enabled": True, "action": "accept", "protocol": "all"}
    rule |= {"bidirectional": True}
    return {"name": "Default", "enabled": True, "rules": [rule | ends]}


def not_served(environment: Mapping[str, str], *words: str) -> str:
    """Start a process for peers that cannot be; return what it says, without a stack."""
    command = (sys.executable, "manage.py", "serve_peers", *words)
    done = ran(*command, env=environment, timeout=60)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    return done.stderr
