"""Blocked users and revoked tokens, seen from the running server."""

from typing import Any

from tests.e2e.test_bad_input import Wire, assert_error
from tests.servers import Server


def new_token(server: Server, user_id: str) -> tuple[Wire, str]:
    """Return a client with a new token of a user, and where that is revoked."""
    terms = {"name": "x", "expires_in": 1}
    made = server.ask("POST", f"/api/users/{user_id}/tokens", terms)
    wire = Wire(server.port, made["plain_token"])
    assert wire.call("GET", "/api/groups").status == 200
    return wire, f"/api/users/{user_id}/tokens/{made['personal_access_token']['id']}"


def test_a_blocked_user_is_refused_everywhere_at_once(server: Server):
    user: dict[str, Any] = {"role": "admin", "auto_groups": []}
    robot = {"name": "a robot", "is_service_user": True, **user}
    user_id = server.ask("POST", "/api/users", robot)["id"]
    wire, _ = new_token(server, user_id)
    server.ask("PUT", f"/api/users/{user_id}", {"is_blocked": True, **user})
    newest = server.ask("GET", "/api/events/audit")[0]["id"]
    reads = ("groups", "users/current", "events/audit")
    writes = (("POST", "groups"), ("PUT", "dns/settings"))
    for method, path in (*(("GET", path) for path in reads), *writes):
        answer = wire.call(method, f"/api/{path}", {"name": "of a blocked user"})
        assert_error(answer, 403)
        assert "blocked" in answer.json["message"]
    assert server.ask("GET", "/api/events/audit")[0]["id"] == newest
    names = [group["name"] for group in server.ask("GET", "/api/groups")]
    assert "of a blocked user" not in names


def test_a_revoked_token_is_401(server: Server):
    me = server.ask("GET", "/api/users/current")["id"]
    wire, path = new_token(server, me)
    server.ask("DELETE", path)
    assert_error(wire.call("GET", "/api/groups"), 401)
