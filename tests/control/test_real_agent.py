"""An unmodified agent enrols, and its resolver answers what the account says.

Runs when MESH_AGENT_BINARY names the agent's program, as root: each agent gets network,
mount and host name namespaces of its own, and cannot touch the machine's resolver.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.control.deployment import Deployment
from tests.dns.bodies import record, zone
from tests.namespaces import Namespace
from tests.programs import ran
from tests.waiting import until

BINARY: Final = os.environ.get("MESH_AGENT_BINARY", "")
SERVICE: Final = "10.201.1.1"
STEPS: Final = """
set -eu
mount --make-rprivate /
hostname {name}
mkdir -p {folder}/etc {folder}/lib /etc/netbird /var/lib/netbird
mount --bind {folder}/etc /etc/netbird
mount --bind {folder}/lib /var/lib/netbird
mount --bind {folder}/resolv.conf /etc/resolv.conf
export NB_WG_KERNEL_DISABLED=true NB_FORCE_USERSPACE_FIREWALL=true
exec {binary} up --foreground-mode --management-url {url} --setup-key {key} \
  --hostname {name} --log-file {folder}/log --daemon-addr unix://{folder}/sock
"""
ASK: Final = """
import socket, sys
import dnslib
server, name = sys.argv[1:]
wire = dnslib.DNSRecord.question(name).send(server, 53, timeout=2)
print(*[record.rdata for record in dnslib.DNSRecord.parse(wire).rr])
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sqlite,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BINARY, reason="MESH_AGENT_BINARY names no agent"),
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
]


class Machine:
    """A network namespace with one agent in it."""

    def __init__(self, number: int, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.space = Namespace(number, "10.201")
        folder.mkdir()
        (folder / "resolv.conf").write_text("nameserver 127.0.0.53\n")

    @contextmanager
    def running(self, url: str, key: str) -> Iterator[None]:
        """Run the agent until the block ends."""
        steps = STEPS.format(
            name=self.name, folder=self.folder, binary=BINARY, url=url, key=key
        )
        own = (*self.space.within, "unshare", "--mount", "--uts")
        with (
            (self.folder / "output").open("wb") as output,
            subprocess.Popen(
                [*own, "sh", "-c", steps], stdout=output, stderr=output
            ) as up,
        ):
            try:
                yield
            finally:
                up.terminate()

    def answer(self, server: str, name: str) -> str:
        """Return what the agent's resolver answers over UDP, "" when it does not."""
        command = (*self.space.within, sys.executable, "-c", ASK)
        return ran(*command, server, name).stdout.strip()

    def resolver(self) -> str:
        """Return the name server that the agent wrote into resolv.conf, "" before."""
        text = (self.folder / "resolv.conf").read_text()
        found = [
            line.split()[1]
            for line in text.splitlines()
            if line.startswith("nameserver")
        ]
        return found[0] if found and found[0] != "127.0.0.53" else ""


def test_real_agents_enrol_and_resolve_names(upset: Deployment, tmp_path: Path):
    url = f"http://{SERVICE}:{upset.port}"
    upset.restart(SVC_GRPC_BIND=f"0.0.0.0:{upset.port}", SVC_PEER_URL=url)
    key = upset.setup_key()
    alpha, beta = (
        Machine(number, name, tmp_path / name)
        for number, name in ((1, "alpha"), (2, "beta"))
    )
    with ExitStack() as stack:
        for machine in (alpha, beta):
            stack.enter_context(machine.space.connected())
        for machine in (alpha, beta):
            stack.enter_context(machine.running(url, key))

        def connected() -> bool:
            found = {p["hostname"]: p for p in upset.api("GET", "/peers")}
            return all(found.get(n, {}).get("connected") for n in ("alpha", "beta"))

        until(connected, patience=120)
        peer = upset.peer("beta")
        server = until(alpha.resolver, patience=60)
        until(
            lambda: alpha.answer(server, peer["dns_label"]) == peer["ip"], patience=60
        )
        everybody = upset.api("GET", "/groups?name=All")[0]["id"]
        corp = zone(domain="corp.test", enable_search_domain=True)
        corp["distribution_groups"] = [everybody]
        path = f"/dns/zones/{upset.api('POST', '/dns/zones', corp)['id']}/records"
        upset.api("POST", path, record(name="www.corp.test", content="10.5.0.7"))
        until(lambda: alpha.answer(server, "www.corp.test") == "10.5.0.7", patience=30)
