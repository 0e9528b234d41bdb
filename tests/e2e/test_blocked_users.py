"""Blocked users and revoked tokens, seen from the running server."""

import json

from tests.e2e.test_bad_input import Wire, assert_error
from tests.servers import Server


def token_for(server: Server, email: str, role: str) -> str:
    """Return the token of a new user."""
    return server.manage("create_token", "--user", email, "--role", role).strip()


def test_a_blocked_user_is_refused_everywhere_at_once(
    server: Server, token: str
) -> None:
    wire = Wire(server, token_for(server, "blocked@mesh.dev", "admin"))
    assert wire.call("GET", "/api/groups").status == 200
    server.manage("users", "block", "blocked@mesh.dev")
    newest = Wire(server, token).call("GET", "/api/events/audit").json[0]["id"]
    for method, path in (
        ("GET", "/api/groups"),
        ("POST", "/api/groups"),
        ("GET", "/api/users/current"),
        ("GET", "/api/events/audit"),
        ("PUT", "/api/dns/settings"),
    ):
        answer = wire.call(method, path, json.dumps({"name": "of a blocked user"}))
        assert_error(answer, 403)
        assert "blocked" in answer.json["message"]
    events = Wire(server, token).call("GET", "/api/events/audit").json
    assert events[0]["id"] == newest
    names = [g["name"] for g in Wire(server, token).call("GET", "/api/groups").json]
    assert "of a blocked user" not in names


def test_a_revoked_token_is_401(server: Server, token: str) -> None:
    owner = Wire(server, token)
    me = owner.call("GET", "/api/users/current").json["id"]
    made = owner.call(
        "POST", f"/api/users/{me}/tokens", json.dumps({"name": "x", "expires_in": 1})
    ).json
    wire = Wire(server, made["plain_token"])
    assert wire.call("GET", "/api/groups").status == 200
    path = f"/api/users/{me}/tokens/{made['personal_access_token']['id']}"
    assert owner.call("DELETE", path).status == 200
    assert_error(wire.call("GET", "/api/groups"), 401)
