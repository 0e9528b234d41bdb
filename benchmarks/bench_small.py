"""Small answers against a bare Django view with one indexed query; what each layer adds.

Both by the same gunicorn with one worker: the difference is what this service does beside
reading: who asks, may they, limits, context, metrics, two log lines, headers, versions.
What is asked for again and again, as here, is answered from memory.
"""

import json
import sys
from typing import Any, Final

from benchmarks.bare import PATH
from benchmarks.layers import LAYERS, PUBLIC
from benchmarks.load import Connection, alternating_rates, request
from benchmarks.report import Report
from benchmarks.workspace import Workspace
from tests.programs import running
from tests.servers import free_port

SHARE: Final = 0.5
GUARD: Final = 0.47
ONE_QUERY: Final = (
    "/livez",
    "/api/accounts",
    "/api/users/current",
    "/api/dns/settings",
)
SEVERAL: Final = 100
"""How many nameserver groups are listed."""


def run(workspace: Workspace, report: Report) -> None:
    """Compare by one client and by eight, then layer by layer."""
    token = workspace.token()
    several = _nameservers(workspace.server().port, token)
    with workspace.other_server("bare", "benchmarks.bare_settings") as bare:
        bare_one = (bare.port, request("GET", PATH, token))
        for path in (*ONE_QUERY, _one_group(workspace), several):
            message = request("GET", path, token)
            for connections in (1, 8):
                measured, reference = alternating_rates(
                    (workspace.server().port, message),
                    bare_one,
                    connections=connections,
                    seconds=0.3,
                )
                label = f"GET {path}, {connections} client{'s' * (connections > 1)}"
                report.at_least(label, measured, reference, SHARE, guard=GUARD)
    _layers(workspace, report, token)


def _layers(workspace: Workspace, report: Report, token: str) -> None:
    """Tell how long each layer takes, and its share of the whole; one client."""
    folder, port = workspace.folder / "layers", free_port()
    folder.mkdir()
    command = [
        "env", f"SVC_BIND=127.0.0.1:{port}", f"SVC_RUNTIME_DIR={folder / 'run'}",
        "SVC_ANONYMOUS_RATE_LIMIT=off",  # one of the layers is asked without a token
        sys.executable, "-m", "gunicorn", "-c", "python:benchmarks.layersconf",
    ]  # fmt: skip
    with running(command, port, folder):
        rates = alternating_rates(
            *(
                (port, _layered(n, path, token))
                for n, (_, path, _) in enumerate(LAYERS)
            ),
            connections=1,
            seconds=0.4,
        )
    before, whole = 0.0, 1 / rates[-1]
    for (name, _, _), rate in zip(LAYERS, rates, strict=True):
        took, before = 1 / rate - before, 1 / rate
        report.note(f"{took * 1e6:5.0f} us, {took / whole:4.0%} of the whole: {name}")
    report.note(
        f"{whole * 1e6:5.0f} us, {rates[0] / rates[-1]:.1f} times the first: all"
    )


def _layered(number: int, path: str, token: str) -> bytes:
    message = request("GET", path, token)
    if path == PUBLIC:  # credentials would be looked at there, too
        message = message.replace(b"Authorization:", b"X-Unused:")
    return message.replace(b"\r\n", b"\r\nX-Layer: %d\r\n" % number, 1)


def _ask(port: int, message: bytes) -> Any:
    connection = Connection(port)
    status, body = connection.exchange(message)
    connection.close()
    assert status == 200, body[:300]
    return json.loads(body)


def _one_group(workspace: Workspace) -> str:
    """Return the path of a group with its hundred peers."""
    port, token = workspace.server().port, workspace.token()
    groups = _ask(port, request("GET", "/api/groups", token))
    usual = min((group for group in groups if group["peers"]), key=_size)
    return f"/api/groups/{usual['id']}"


def _size(group: dict[str, Any]) -> int:
    return int(group["peers_count"])


def _nameservers(port: int, token: str) -> str:
    """Fill the list of nameserver groups up, and return its path."""
    path = "/api/dns/nameservers"
    found = _ask(port, request("GET", path, token))
    for number in range(len(found), SEVERAL):
        body = json.dumps({**found[0], "name": f"bench {number}"}).encode()
        _ask(port, request("POST", path, token, body))
    return path
