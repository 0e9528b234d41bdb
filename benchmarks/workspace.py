"""Where benchmarks run: a database of their own, the large mesh, the server."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.servers import Server, own_database

OWNER: Final = "owner@bench.internal"
MESH: Final = "BENCH_MESH"
"""Names the folder of a workspace with the large mesh, which others are copies of."""

_DATABASE: Final = "database"
_COPIED: Final = ("secret_key", "db.sqlite3")


class Workspace:
    """A folder and a database; what else there is is made on first use."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self._server = Server(
            folder,
            database_url=database_url,
            content="",
            # The same gunicorn and settings, plus one empty view to compare with.
            DJANGO_SETTINGS_MODULE="benchmarks.settings",
            SVC_LOG_FILE=str(folder / "log.json"),
        )
        self._token = ""

    @property
    def vendor(self) -> str:
        """`sqlite` or `postgresql`."""
        return "postgresql" if self._server.database_url else "sqlite"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of commands that work on the benchmark's database."""
        return self._server.environ

    def fill(self, *, mesh: bool) -> None:
        """Bring the new database to the newest schema, and fill in the large profile."""
        self._server.manage("migrate", "--verbosity", "0")
        if mesh:
            self._server.manage("seed", "--profile", "large", "--random-seed", "1")

    def token(self) -> str:
        """Return the token of an owner."""
        if not self._token:
            self._token = self._server.manage(
                "create_token", "--user", OWNER, "--role", "owner"
            ).strip()
        return self._token

    def server(self) -> Server:
        """Return the server, started when it is not running."""
        if self._server.process is None:
            self._server.start()
        return self._server

    @contextmanager
    def other_server(self, name: str, settings: str, **extra: str) -> Iterator[Server]:
        """Yield a server of one worker with other settings over the same database."""
        folder = self.folder / name
        url = self._server.database_url
        server = Server(
            folder,
            database_url=url or f"sqlite:///{self.folder / 'db.sqlite3'}",
            DJANGO_SETTINGS_MODULE=settings,
            SVC_LOG_FILE=str(folder / "log.json"),
        )
        server.environ.update(extra)
        with server:
            yield server

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()


@contextmanager
def open_workspace(*, mesh: bool) -> Iterator[Workspace]:
    """Yield a workspace beside the database of SVC_DATABASE_URL; remove it afterwards.

    With `mesh` it has the large one: a copy of what `shared_mesh` made, where it did.
    """
    made = Path(os.environ[MESH]) if mesh and MESH in os.environ else None
    like = (made / _DATABASE).read_text() if made else ""
    with (
        tempfile.TemporaryDirectory(prefix="benchmarks-") as name,
        own_database(like=like or "template1") as url,
    ):
        workspace = Workspace(Path(name), url)
        # In-process measurements use the same database as the server.
        os.environ.update(workspace.environment)
        if made is None:
            workspace.fill(mesh=mesh)
        else:
            for file in filter(Path.exists, map(made.joinpath, _COPIED)):
                shutil.copy(file, workspace.folder)
        try:
            yield workspace
        finally:
            workspace.close()
            _close_connections()


@contextmanager
def shared_mesh() -> Iterator[dict[str, str]]:
    """Make the large mesh; yield the environment in which workspaces are copies of it."""
    environ = dict(os.environ)
    with open_workspace(mesh=True) as workspace:
        url = workspace.environment.get("SVC_DATABASE_URL", "")
        name = urlsplit(url).path.removeprefix("/")
        (workspace.folder / _DATABASE).write_text(name)
        yield {**environ, MESH: str(workspace.folder)}


def _close_connections() -> None:
    from django.db import connections  # noqa: PLC0415 - after django.setup()

    connections.close_all()
