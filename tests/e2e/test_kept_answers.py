"""Answers that a worker keeps, while others write."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load import Connection, request
from tests.servers import GUNICORN, Server, running_server

WRITES = 200
READERS = 3


def asked(connection: Connection, message: bytes) -> Any:
    status, body = connection.exchange(message)
    assert status == 200, body
    return json.loads(body)


@pytest.mark.slow
def test_none_is_older_than_what_another_process_has_acknowledged(
    tmp_path: Path,
):
    with running_server(tmp_path / "one", None, "owner", GUNICORN) as one:
        url = one.database_url or f"sqlite:///{one.folder / 'db.sqlite3'}"
        with Server(tmp_path / "other", database_url=url, command=GUNICORN) as other:
            check(one, other, one.token)


def check(one: Server, other: Server, token: str) -> None:
    """Read from one process what another writes, as fast as they can."""
    acknowledged, done = [0], threading.Event()

    def read(path: str) -> int:
        with closing(Connection(one.port)) as connection:
            for turn in count():
                known = acknowledged[0]
                found = asked(connection, request("GET", path, token))
                assert int(found["name"]) >= known
                if done.is_set():
                    return turn
        return 0

    with closing(Connection(other.port)) as writer, ThreadPoolExecutor() as pool:
        made = asked(writer, request("POST", "/api/groups", token, b'{"name": "0"}'))
        path = f"/api/groups/{made['id']}"
        reads = [pool.submit(read, path) for _ in range(READERS)]
        for number in range(1, WRITES + 1):
            asked(writer, request("PUT", path, token, b'{"name": "%d"}' % number))
            acknowledged[0] = number
        done.set()
        assert sum(found.result() for found in reads) > READERS
