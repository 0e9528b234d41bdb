"""A process that sums up and is killed loses nothing, and counts nothing twice."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Final

import pytest
from django.db import connection

from events.models import RollUpGap, RollUpMark, TrafficRollUp
from events.streams import batches, rollups
from events.streams.catalogue import TRAFFIC
from events.streams.subjects import TRAFFIC_SUBJECT
from meshmgmt.core import clock
from meshmgmt.env import BASE_DIR
from tests.events.samples import traffic
from tests.events.test_rollups import NOW, ago, answered, numbered, sums

pytestmark = pytest.mark.django_db(transaction=True)

# Sums up in a process of its own for each line, a number: that of the statement before
# which it is killed. Answers with the status of each.
RUNNER: Final = """
import os, signal, sys
from datetime import datetime
os.environ["DJANGO_SETTINGS_MODULE"] = "meshmgmt.settings"
from meshmgmt import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
import django
django.setup()
from django.db import connection
from events.streams import rollups
from events.streams.subjects import TRAFFIC_SUBJECT
from meshmgmt.core import clock

rollups.MOST = rollups._MOST_ON_SQLITE = 10
rollups.WORK_SECONDS, rollups.BREATH_SECONDS = 600, 0

def sum_up(left):
    def count(execute, *statement):
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(*statement)

    now = clock.set_to(datetime.fromisoformat(sys.argv[2]))
    with now, connection.execute_wrapper(count):
        rollups.roll_up([TRAFFIC_SUBJECT], least=1)

for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            sum_up(int(line))
            os._exit(0)
        finally:
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runner:
    """Sums up in real processes, one after the other."""

    def __init__(self) -> None:
        name = str(connection.settings_dict["NAME"])
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUNNER, name, NOW.isoformat()],
            cwd=BASE_DIR,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def is_killed_before(self, statement: int) -> bool:
        """Tell whether the process had so many statements to carry out."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(statement, file=self.process.stdin, flush=True)
        status = int(self.process.stdout.readline())
        assert status in (0, -signal.SIGKILL)
        return status != 0


@contextmanager
def running() -> Iterator[Runner]:
    made = Runner()
    try:
        yield made
    finally:
        made.process.communicate()


@pytest.mark.parametrize(
    ("gaps", "step"),
    [
        pytest.param(set(), 1, id="what came in"),
        pytest.param({NOW.date()}, 3, id="a day with a gap", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_between_any_two_statements_counts_each_event_once(
    gaps: set[date], step: int
):
    def begin() -> None:
        for model in (TrafficRollUp, RollUpMark, RollUpGap):
            model._default_manager.all().delete()
        rollups.leave_gap(TRAFFIC, gaps)

    def sum_up() -> list[object]:
        rollups.roll_up([TRAFFIC_SUBJECT], least=1)
        return sums()

    question = "group_by=source&start_date=2026-11-17&end_date=2026-11-20"
    killed = 0
    with clock.set_to(NOW), running() as runner:
        flows = [traffic(rx_bytes=n, window_end=ago(90 + 15 * n)) for n in range(25)]
        batches.ingest_events(TRAFFIC, numbered(flows))
        told = answered(TRAFFIC, question)
        begin()
        wanted = sum_up()
        begin()
        while runner.is_killed_before(1 + step * killed):
            assert answered(TRAFFIC, question) == told, f"killed: {step * killed}"
            assert sum_up() == wanted, f"killed: {step * killed}"
            killed += 1
            begin()
        assert sums() == wanted
    assert killed > 12
