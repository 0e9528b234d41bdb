"""Each kept database comes to the next schema while clients read and write."""

import subprocess
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Final

import pytest

import meshmgmt
from meshmgmt.env import BASE_DIR
from tests.backup.files import SCHEMAS, SECRET, TOKEN
from tests.servers import own_database
from tests.serving.restarting import Activated, assert_nothing_failed, at_work

LATER: Final = "tests.e2e.later.settings"
TIMES: Final = 200
"""How often the events of the trail are copied, so that an index takes its time."""

MANY: Final = """
import itertools
from events.models import AuditEvent
rows = list(AuditEvent.objects.order_by("id"))
for number in range({times}):
    copies = [AuditEvent(timestamp=row.timestamp, activity_code=row.activity_code,
        initiator_id=row.initiator_id, target_id=f"copy{{number}}") for row in rows]
    AuditEvent.objects.bulk_create(copies, batch_size=1000)
print(AuditEvent.objects.count())
"""


def code_of(version: str, folder: Path) -> Path:
    """Return the code of a version: of its tag, or what is here, while that is it."""
    if version == meshmgmt.__version__:
        return BASE_DIR
    command = ["git", "-C", str(BASE_DIR), "archive", f"v{version}"]
    done = subprocess.run(command, check=True, capture_output=True)
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "old", sorted(SCHEMAS.glob("*.zip")), ids=lambda path: path.stem
)
def test_clients_notice_nothing_of_an_upgrade(old: Path, tmp_path: Path):
    with own_database() as url:
        environ = {"SVC_SECRET_KEY": SECRET}
        environ |= {"SVC_DATABASE_URL": url} if url else {}
        server = Activated(tmp_path / "server", content="", **environ)
        server.code = code_of(old.stem, tmp_path / "code")
        server.manage("restore", str(old))
        rows = int(server.manage("shell", "-v", "0", "-c", MANY.format(times=TIMES)))
        with server, at_work(server, tmp_path, TOKEN) as clients:
            server.code = BASE_DIR
            server.environ["DJANGO_SETTINGS_MODULE"] = LATER
            assert server.tried("migrate", "--check").returncode == 1
            server.manage("migrate", "--verbosity", "0")  # the version before serves
            clients.more()
            assert server.stop() == 0
            server.start()
            clients.more()
            assert_nothing_failed(server, clients)
            server.manage("migrate", "--check")
        assert rows > TIMES * 300
