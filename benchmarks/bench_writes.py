"""A write with its audit event against a view that only authenticates.

Both by the same gunicorn with its default workers: one client that waits for each answer,
and eight at once. Writes are one after the other under the account's write lock.
"""

import json
from typing import Any, Final

from benchmarks.load import Build, Connection, rate, request
from benchmarks.report import Report
from benchmarks.workspace import Workspace

LIMIT: Final = 0.25
GUARD: Final = 0.15
SECONDS: Final = 4.0
ROUNDS: Final = 3


def run(workspace: Workspace, report: Report) -> None:
    """Compare updates of one zone, one record and one nameserver group."""
    port, token = workspace.server().port, workspace.token()
    empty = request("POST", "/api/bench/empty", token, b"{}")
    for name, build in _writes(port, token):
        for connections in (1, 8):
            written, reference = _rates(port, build, empty, connections)
            label = f"PUT {name}, {connections} client{'s' * (connections > 1)}"
            report.at_least(label, written, reference, LIMIT, guard=GUARD)


def _rates(
    port: int, build: Build, empty: bytes, connections: int
) -> tuple[float, float]:
    """Return the best rates of both, measured in turn."""
    found: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for kept, requests in zip(found, (build, lambda _: empty), strict=True):
            kept.append(
                rate(port, requests, connections=connections, seconds=SECONDS / ROUNDS)
            )
    return max(found[0]), max(found[1])


def _get(port: int, token: str, path: str) -> Any:
    connection = Connection(port)
    status, body = connection.exchange(request("GET", path, token))
    connection.close()
    assert status == 200, body[:300]
    return json.loads(body)


def _writes(port: int, token: str) -> list[tuple[str, Build]]:
    """Return requests that each change one object and so write one event."""
    zone = _get(port, token, "/api/dns/zones")[0]
    record = zone["records"][0]
    servers = _get(port, token, "/api/dns/nameservers")[0]
    one_record = f"/api/dns/zones/{zone['id']}/records/{record['id']}"
    one_group = f"/api/dns/nameservers/{servers['id']}"

    def put(path: str, body: dict[str, Any]) -> bytes:
        return request("PUT", path, token, json.dumps(body).encode())

    def change_record(number: int) -> bytes:
        return put(one_record, {**record, "ttl": number % 80_000})

    def change_servers(number: int) -> bytes:
        return put(one_group, {**servers, "description": f"change {number}"})

    return [("a record", change_record), ("a nameserver group", change_servers)]
