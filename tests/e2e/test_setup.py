"""An empty database brought up through the API alone, on a real server."""

import re
from pathlib import Path
from typing import Any

from tests.servers import GUNICORN, Server, running_server
from tests.waiting import until

OWNER: dict[str, Any] = {"email": "ann@mesh.dev", "name": "Ann", "create_pat": True}
OWNER |= {"password": "correct horse"}
STRANGER = {"Authorization": ""}
ELSEWHERE = {**STRANGER, "X-Forwarded-For": "192.0.2.7"}


def printed_codes(server: Server) -> list[str]:
    """Return the codes in the log, once there is one: the log has a writer thread."""
    code = r'"setup_code": "([A-Z2-7]{16})"'
    return until(lambda: re.findall(code, server.printed()), "a code in the log", 20)


def test_first_owner_needs_nothing_but_the_api(tmp_path: Path):
    with running_server(tmp_path / "var", command=GUNICORN) as server:
        printed = printed_codes(server)
        assert len(printed) == 1, server.printed()
        assert server.get("/api/instance").json == {"setup_required": True}
        page = server.call("GET", f"/setup?setup_code={printed[0]}", **ELSEWHERE)
        assert printed[0] in page.text
        refused = server.call("POST", "/api/setup", OWNER, **ELSEWHERE)
        assert refused.status == 403
        wanted = OWNER | {"setup_code": printed[0]}
        made = server.call("POST", "/api/setup", wanted, **ELSEWHERE).json
        assert server.get("/api/instance").json == {"setup_required": False}
        assert server.call("POST", "/api/setup", OWNER, **STRANGER).status == 412

        token = {"Authorization": f"Token {made['personal_access_token']}"}
        group = server.call("POST", "/api/groups", {"name": "first"}, **token)
        assert (group.status, group.json["name"]) == (200, "first")
        events = server.call("GET", "/api/events/audit", **token).json
        codes = [event["activity_code"] for event in events[:2]]
        assert codes == ["group.add", "personal.access.token.create"]
        me = server.call("GET", "/api/users/current", **token)
        assert (me.status, me.json["id"]) == (200, made["user_id"])
        for secret in (made["personal_access_token"], OWNER["password"]):
            assert secret not in server.printed()
        assert "setup_code=[redacted]" in server.printed()
        assert server.printed().count(printed[0]) == 1


def test_a_server_with_an_owner_prints_no_code(server: Server):
    assert server.get("/api/instance").json == {"setup_required": False}
    assert "setup_code" not in server.printed()
