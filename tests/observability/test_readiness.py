"""`/livez` and `/readyz` with the real thing: no database, no migrations, a full disk."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.observability.disks import filled
from tests.postgresql import running_cluster
from tests.servers import Server
from tests.waiting import until

pytestmark = pytest.mark.sqlite


@pytest.mark.slow
def test_missing_migrations_and_a_stopped_database_make_the_server_unready(
    folder: Path,
):
    with (
        running_cluster() as cluster,
        Server(folder, SVC_DATABASE_URL=cluster.url) as server,
    ):
        missing = server.get("/readyz")
        assert missing.status == 503
        assert missing.json["checks"]["migrations"] == "failed"
        assert "details" not in missing.json
        series = 'django_migrations_unapplied_total{connection="default"}'
        # A busy database is not waited for at a scrape, but for a moment.
        until(lambda: server.value(series) > 10, "the number of migrations")
        assert server.get("/livez").status == 200

        server.manage("migrate", "--verbosity", "0")
        assert server.get("/readyz").status == 200
        until(lambda: server.value("mesh_inventory_up") == 1, "the inventory")

        cluster.stop()
        gone = server.get("/readyz")
        assert gone.status == 503
        assert gone.json["checks"]["database"] == "failed"
        assert server.get("/livez").status == 200
        # The figures do not need the database, and say that it is away.
        scrape = server.scrape()
        assert "management_http_request_counter_total " in scrape
        answer = server.manage("log_level", "debug", "--for", "30s")
        assert "debug" in answer
        status = server.tried("status")
        assert status.returncode == 1
        assert "the database does not answer" in status.stdout
        bundled = server.manage("debug", "bundle").splitlines()[-1]
        assert Path(bundled).is_file()

        cluster.start()
        assert server.get("/readyz").status == 200
        assert "secretpass" not in server.printed()


@pytest.fixture
def draining(server: Server) -> Iterator[Server]:
    """The server, which says that it is about to stop."""
    mark = server.runtime_dir / "draining"
    mark.touch()
    yield server
    mark.unlink()


def test_details_are_for_tokens_that_may_read_events(draining: Server):
    anonymous = draining.get("/readyz?verbose")
    assert anonymous.status == 503
    assert "details" not in anonymous.json
    owner = {"Authorization": f"Token {draining.token}"}
    informed = draining.get("/readyz?verbose", **owner)
    assert informed.json["details"]["draining"] == "the server is shutting down"
    # A proxy's request is not a local one, whatever address it comes from.
    forwarded = {"X-Forwarded-For": "203.0.113.9"}
    assert draining.get("/metrics", **forwarded).status == 404
    assert draining.get("/metrics", **forwarded, **owner).status == 200
    assert draining.token not in draining.printed()


@pytest.mark.slow
def test_a_full_disk_makes_the_server_unready_and_back(small_disk: Path):
    with Server(small_disk, SVC_WORKERS="2") as server:
        assert server.get("/readyz").status == 200
        before = server.value("management_http_request_counter_total")
        filler = filled(small_disk)
        for _ in range(3):
            reply = server.get("/readyz")
            assert reply.status == 503
            assert reply.json["checks"]["disk"] == "failed"
        assert server.get("/livez").status == 200
        assert server.value("management_http_request_counter_total") > before
        # A worker that starts now serves too.
        [victim, _] = server.workers()
        os.kill(victim, signal.SIGKILL)
        until(lambda: len(server.workers() - {victim}) == 2, "a new worker")
        assert {server.get("/livez").status for _ in range(20)} == {200}
        filler.unlink()
        assert server.get("/readyz").status == 200
