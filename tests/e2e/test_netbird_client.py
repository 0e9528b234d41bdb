"""The real client of the reference API, unmodified, against the real server."""

import json
import os
from pathlib import Path
from typing import Final

import pytest

from meshmgmt.env import BASE_DIR
from tests.factories import public_key
from tests.programs import ran
from tests.servers import Server

PYTHON: Final = BASE_DIR / ".venv-netbird" / "bin" / "python"
HERE: Final = Path(__file__).parent
SESSIONS: Final = {
    "netbird_session.py": """
        users_and_account tokens peers groups nameservers_and_settings
        zones_and_records audit
    """,
    "netbird_access.py": """
        users invites policies peers routes networks setup_keys account instance
        jobs not_served
    """,
}
"""The steps of each script, in their order."""


def test_the_reference_client_works_unmodified(server: Server, tmp_path: Path):
    if not PYTHON.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"{PYTHON} is missing: `make test` installs it")
        pytest.skip("the client is not installed: `make test` does that")
    peers = [{"wg_public_key": public_key(n), "name": f"node-{n}"} for n in range(5)]
    server.manage("import_peers", "-", text="\n".join(map(json.dumps, peers)))
    server.manage("create_token", "--user", "colleague@mesh.dev", "--role", "auditor")
    for script, steps in SESSIONS.items():
        command = (str(PYTHON), str(HERE / script), server.url, server.token)
        # Beside our checkout the client would import our `dns`.
        done = ran(*command, *steps.split(), cwd=tmp_path)
        assert done.returncode == 0, f"{done.stderr}\n{server.printed()[-2000:]}"
