"""Small answers against a bare Django view with one indexed query, no middleware.

Both by the same gunicorn with one worker: the difference is what this service does beside
reading: who asks, may they, limits, context, metrics, two log lines, headers, versions.
What is asked for again and again, as here, is answered from memory.
"""

import json
from typing import Any, Final

from benchmarks.bare import PATH
from benchmarks.load import Connection, alternating_rates, request
from benchmarks.report import Report
from benchmarks.workspace import Workspace

SHARE: Final = 0.5
GUARD: Final = 0.3
ONE_QUERY: Final = (
    "/livez",
    "/api/accounts",
    "/api/users/current",
    "/api/dns/settings",
)
SEVERAL: Final = 100
"""How many nameserver groups are listed."""


def run(workspace: Workspace, report: Report) -> None:
    """Compare by one client and by eight."""
    workspace.large_mesh()
    token = workspace.token()
    several = _nameservers(workspace.server().port, token)
    with workspace.other_server("bare", "benchmarks.bare_settings") as bare:
        reference = (bare.port, request("GET", PATH, token))
        for path in (*ONE_QUERY, _one_group(workspace), several):
            message = request("GET", path, token)
            for connections in (1, 8):
                rates = alternating_rates(
                    (workspace.server().port, message),
                    reference,
                    connections=connections,
                    seconds=0.5,
                )
                label = f"GET {path}, {connections} client{'s' * (connections > 1)}"
                report.at_least(label, *rates, SHARE, guard=GUARD)


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
