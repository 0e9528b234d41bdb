"""An empty database brought up through the API alone, on a real server."""

import http.client
import json
import re
from pathlib import Path
from typing import Any

from tests.servers import Server, running_server
from tests.waiting import until

OWNER = {
    "email": "ann@mesh.dev",
    "name": "Ann",
    "password": "correct horse",
    "create_pat": True,
}


def call(
    server: Server, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, Any]:
    """Send one request; return status and parsed body."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, sent, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def printed_codes(server: Server) -> list[str]:
    """Return the codes in the log, once there is one: the log has a writer thread."""
    code = r'"setup_code": "([A-Z2-7]{16})"'
    return until(lambda: re.findall(code, server.printed()), "a code in the log", 20)


def test_first_owner_needs_nothing_but_the_api(tmp_path: Path) -> None:
    proxied = {"X-Forwarded-For": "192.0.2.7"}
    with running_server(tmp_path / "var") as server:
        printed = printed_codes(server)
        assert len(printed) == 1, server.printed()
        assert call(server, "GET", "/api/instance") == (200, {"setup_required": True})
        status, _ = call(server, "POST", "/api/setup", OWNER, **proxied)
        assert status == 403
        wanted = OWNER | {"setup_code": printed[0]}
        status, made = call(server, "POST", "/api/setup", wanted, **proxied)
        assert status == 200, made
        assert call(server, "GET", "/api/instance") == (200, {"setup_required": False})
        assert call(server, "POST", "/api/setup", OWNER)[0] == 412

        token = {"Authorization": f"Token {made['personal_access_token']}"}
        status, group = call(server, "POST", "/api/groups", {"name": "first"}, **token)
        assert (status, group["name"]) == (200, "first")
        status, events = call(server, "GET", "/api/events/audit", **token)
        codes = [event["activity_code"] for event in events]
        # Housekeeping makes the key of the trail's proof at about this time.
        assert [code for code in codes if code != "audit.key.create"][:2] == [
            "group.add",
            "personal.access.token.create",
        ]

        for secret in (made["personal_access_token"], OWNER["password"]):
            assert str(secret) not in server.printed()
        server.stop()
        server.output.unlink()
        server.start()
        assert "setup_code" not in server.printed()
        status, me = call(server, "GET", "/api/users/current", **token)
        assert (status, me["id"]) == (200, made["user_id"])
