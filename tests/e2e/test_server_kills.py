"""Servers killed at random moments, under load and with clients that never finish."""

import http.client
import random
import threading
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.races import at_work
from tests.servers import Server, migrated_database
from tests.waiting import PATIENCE
from tests.wire import HALF_BODY, HALF_HEAD, half_request

KILLS: Final = 9
WRITERS: Final = 3
DAWDLERS: Final = 3
HALVES: Final = (HALF_HEAD, HALF_BODY)


class Load:
    """Writers, and clients that never finish a request, until it is over."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.answered: set[str] = set()
        self.answered_since_start = threading.Event()
        self.unexpected: list[object] = []
        self.over = threading.Event()

    def write(self, writer: int) -> None:
        """Make groups, each under a name of its own; broken connections are expected.

        After one the same is sent again, and must not meet itself as a duplicate.
        """
        number = 0
        while not self.over.wait(0.01):
            name = f"made-{writer}-{number}"
            key = {"Idempotency-Key": name}
            try:
                group = {"name": name}
                answer = self.server.call("POST", "/api/groups", group, **key)
            except (OSError, http.client.HTTPException):
                continue
            number += 1
            if answer.status == 200:
                self.answered.add(name)
                self.answered_since_start.set()
            else:
                self.unexpected.append((name, answer))

    def dawdle(self) -> None:
        """Begin requests and leave them there."""
        while not self.over.wait(0.05):
            half = half_request(self.server.port, random.choice(HALVES))
            with suppress(OSError), half:
                self.over.wait(random.uniform(0.5, 20))


def kill_again_and_again(server: Server, load: Load) -> None:
    """Kill servers while they serve and while they start; each next one must start."""
    for number in range(KILLS):
        if number % 3 == 2:  # killed again while it starts
            server.launch()
            time.sleep(random.uniform(0, 2))
        else:
            server.start()
            load.answered_since_start.clear()
            heard = load.answered_since_start.wait(PATIENCE)
            assert heard, (load.unexpected[-3:], server.printed()[-3000:])
            time.sleep(random.uniform(0, 1))
        assert server.process is not None
        assert server.process.poll() is None, server.printed()[-3000:]
        server.kill()
    server.start()


@pytest.mark.slow
@pytest.mark.timeout(600)  # a start takes half a minute on a machine that is overloaded
def test_killed_servers_refuse_no_start_and_halve_and_repeat_no_write(tmp_path: Path):
    with migrated_database(tmp_path / "var", "owner") as url:
        server = Server(tmp_path / "var", database_url=url, SVC_WORKERS="3")
        try:
            load = Load(server)
            writers = [partial(load.write, number) for number in range(WRITERS)]
            with at_work(load.over, *writers, *[load.dawdle] * DAWDLERS):
                kill_again_and_again(server, load)
            assert not load.unexpected
            groups = server.ask("GET", "/api/groups")
            events = server.ask("GET", "/api/events/audit?format=json")
        finally:
            server.stop()
    made = {g["id"]: g["name"] for g in groups if g["name"].startswith("made-")}
    told = Counter(e["target_id"] for e in events if e["activity_code"] == "group.add")
    assert load.answered <= set(made.values())
    assert {group: told[group] for group in made} == dict.fromkeys(made, 1)
    assert told.keys() >= made.keys()
