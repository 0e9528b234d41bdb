"""PgBouncer as shipped, before a database of the suite's PostgreSQL."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg

from meshmgmt.env import BASE_DIR
from tests.programs import program, running
from tests.servers import free_port

SHIPPED = BASE_DIR / "deploy" / "pgbouncer" / "pgbouncer.ini"
NAME = "meshmgmt"
USER = "postgres"
STATS = f"stats_users = {USER}"


def socket_of(url: str) -> tuple[str, int]:
    """Return folder and port of the socket at which the server of `url` listens too."""
    with psycopg.connect(url) as connection:
        [folder] = connection.execute("SHOW unix_socket_directories").fetchone() or [""]
        return str(folder), connection.info.port


def through_the_socket(url: str) -> str:
    """Return `url` by way of the file system, which all network namespaces share."""
    folder, port = socket_of(url)
    parts = urlsplit(url)
    where = f"{parts.username}@{quote(folder, safe='')}:{port}"
    return parts._replace(netloc=where).geturl()


@contextmanager
def running_pgbouncer(
    url: str, addresses: Sequence[str] = (), port: int = 0
) -> Iterator[int]:
    """Yield the port at which it listens on loopback and the given addresses."""
    command = [program("pgbouncer")]
    folder, database_port = socket_of(url)
    port = port or free_port()
    listened = ",".join(("127.0.0.1", *addresses))
    text = SHIPPED.read_text()
    own = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    try:
        (own / "users").write_text(f'"{urlsplit(url).username}" ""\n')
        for shipped, ours in {
            "host=db.internal port=5432 dbname=meshmgmt": (
                f"host={folder} port={database_port} dbname={urlsplit(url).path[1:]}"
            ),
            "listen_addr = 127.0.0.1": f"listen_addr = {listened}",
            "listen_port = 6432": f"listen_port = {port}\nunix_socket_dir =\n{STATS}",
            "auth_type = scram-sha-256": "auth_type = trust",
            "/etc/pgbouncer/userlist.txt": str(own / "users"),
        }.items():
            assert shipped in text
            text = text.replace(shipped, ours)
        (own / "pgbouncer.ini").write_text(text)
        command.append(str(own / "pgbouncer.ini"))
        if os.geteuid() == 0:  # it refuses to run as root
            command = ["runuser", "-u", USER, "--", *command]
            for path in (own, *own.iterdir()):
                shutil.chown(path, USER)
        with running(command, port, own):
            yield port
    finally:
        shutil.rmtree(own)
