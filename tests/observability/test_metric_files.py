"""Values of many processes: added up, those of ended ones folded."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from observability.metrics import exposition, metricfiles
from tests.observability.disks import filled
from tests.waiting import until

# A process that counts, says so, counts more when it is told to, and ends when its
# standard input does.
WORKER = """
import os, pathlib, sys
from observability.metrics import metricfiles
metricfiles.share(pathlib.Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]))
from observability.metrics import instruments
requests = instruments.counter("management.http.request.counter.total")
named = instruments.counter("management.http.request.counter")
duration = instruments.histogram("management.http.request.duration.ms")
streams = instruments.gauge("management.grpc.connected.streams")
for n in range(int(sys.argv[1])):
    requests.inc()
    named.labels("/api/groups", "GET").inc()
    duration.labels("/api/groups", "GET").observe(n % 20)
streams.set(3)
print("counted", flush=True)
for line in sys.stdin:
    for n in range(int(line)):
        named.labels(f"/of/many/{n}", "GET").inc()
    print("counted", flush=True)
"""


class Worker:
    """A real process with metric files."""

    def __init__(self, directory: Path, count: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(count)],
            env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(directory)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def counted(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"counted\n"

    def count_more(self, names: int) -> None:
        """Have it count under new names, each of which takes room in its files."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"%d\n" % names)
        self.process.stdin.flush()
        self.counted()

    def kill(self) -> int:
        self.process.kill()
        self.process.communicate()
        return self.process.pid


def ended(directory: Path, count: int) -> int:
    """Let a process count and be killed; return its id."""
    worker = Worker(directory, count)
    worker.counted()
    return worker.kill()


def text(directory: Path) -> str:
    families = exposition.from_library(metricfiles.collect(directory))
    return exposition.render(exposition.complete(families)).decode()


def value(scrape: str, series: str) -> float:
    lines = [line for line in scrape.splitlines() if line.startswith(f"{series} ")]
    assert len(lines) == 1, lines
    return float(lines[0].rpartition(" ")[2])


TOTAL = "management_http_request_counter_total"
NAMED = 'management_http_request_counter{endpoint="/api/groups",method="GET"}'
BUCKET = (
    'management_http_request_duration_ms_bucket{endpoint="/api/groups",method="GET",le='
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    metricfiles.forget_dead(tmp_path / "metrics")
    return tmp_path / "metrics"


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.glob("*.db")}


def test_workers_are_added_up_and_survive_a_kill(directory: Path):
    workers = [Worker(directory, 100), Worker(directory, 50)]
    for worker in workers:
        worker.counted()
    assert metricfiles.live_pids(directory) == {w.process.pid for w in workers}
    before = text(directory)
    assert value(before, TOTAL) == value(before, NAMED) == 150
    assert value(before, "management_grpc_connected_streams") == 6

    workers[0].kill()
    for fold in (False, True):
        if fold:
            metricfiles.fold_dead(directory)
        after = text(directory)
        assert value(after, TOTAL) == value(after, NAMED) == 150
        assert value(after, "management_grpc_connected_streams") == 3
        for bound, count in {"0.0": 8, "5.0": 48, "+Inf": 150}.items():
            assert value(after, f'{BUCKET}"{bound}"}}') == count
    workers[1].kill()


def test_folding_again_changes_nothing(directory: Path):
    for _ in range(2):
        ended(directory, 30)
        metricfiles.fold_dead(directory)
        metricfiles.fold_dead(directory)
    assert names(directory) == {"counter_folded.db", "histogram_folded.db"}
    assert value(text(directory), TOTAL) == 60
    assert value(text(directory), f'{BUCKET}"+Inf"}}') == 60


def test_a_starting_server_begins_at_zero(directory: Path):
    for _ in range(2):
        ended(directory, 30)
        metricfiles.fold_dead(directory)
    survivor = Worker(directory, 5)
    survivor.counted()
    metricfiles.forget_dead(directory)
    assert value(text(directory), TOTAL) == 5
    survivor.kill()


def test_a_file_that_is_being_made_is_skipped(directory: Path):
    (directory / f"counter_{os.getpid()}.db").write_bytes(b"")
    (directory / "counter_999999999.db").write_bytes(b"")
    assert metricfiles.collect(directory) == []
    metricfiles.fold_dead(directory)
    assert "counter_folded.db" not in names(directory)


def test_counters_never_fall_while_workers_are_folded(directory: Path):
    workers = [Worker(directory, 10) for _ in range(4)]
    for worker in workers:
        worker.counted()
    seen, done = [], threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(value(text(directory), TOTAL))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for worker in workers:
        worker.kill()
        metricfiles.fold_dead(directory)
    done.set()
    watcher.join()
    assert set(seen) == {40}


def test_folded_values_do_not_grow_with_workers_that_ended(directory: Path):
    dead = ended(directory, 10)
    for pid in range(10**9, 10**9 + 50):  # no process has such an id
        for kind in ("counter", "histogram"):
            shutil.copy(directory / f"{kind}_{dead}.db", directory / f"{kind}_{pid}.db")
    metricfiles.fold_dead(directory)
    size = sum(path.stat().st_size for path in directory.glob("*.db"))
    assert names(directory) == {"counter_folded.db", "histogram_folded.db"}
    assert value(text(directory), TOTAL) == 51 * 10
    shutil.copy(directory / "counter_folded.db", directory / "counter_999999999.db")
    metricfiles.fold_dead(directory)
    assert sum(path.stat().st_size for path in directory.glob("*.db")) == size


@pytest.mark.slow
def test_processes_count_in_memory_while_the_disk_is_full(small_disk: Path):
    directory = small_disk / "metrics"
    before = Worker(directory, 10)
    before.counted()
    filler = filled(small_disk)
    during = Worker(directory, 20)
    during.counted()
    for worker in (before, during):
        worker.count_more(1000)
    assert value(text(directory), TOTAL) == 10
    filler.unlink()
    after = Worker(directory, 5)
    after.counted()
    after.count_more(1000)
    assert value(text(directory), TOTAL) == 15

    def all_is_told() -> bool:
        for worker in (before, during):
            worker.count_more(1)
        told = text(directory)
        return (value(told, TOTAL), value(told, many)) == (35, 3)

    many = 'management_http_request_counter{endpoint="/of/many/999",method="GET"}'
    until(all_is_told, "what was counted in memory")
    assert during.kill()
    assert before.kill()
    metricfiles.fold_dead(directory)
    assert value(text(directory), TOTAL) == 35
    filled(small_disk)
    after.kill()
    with pytest.raises(OSError, match="No space"):
        metricfiles.fold_dead(directory)
    assert value(text(directory), TOTAL) == 35


class Killed(BaseException):
    """Stands for a kill: nothing that the process meant to do follows."""


@pytest.mark.parametrize("step", ["rename", "replace", "unlink"])
def test_a_fold_that_is_killed_neither_loses_nor_doubles_values(
    directory: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    for _ in range(2):
        ended(directory, 30)
    does = getattr(Path, step)

    def killed(path: Path, *args: object, **kwargs: object) -> object:
        if path.name.startswith(("counter", "folding")) and not kwargs:
            raise Killed
        return does(path, *args, **kwargs)

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(Path, step, killed)
        metricfiles.fold_dead(directory)
    for _ in range(2):
        assert value(text(directory), TOTAL) == 60
        metricfiles.fold_dead(directory)
    assert names(directory) == {"counter_folded.db", "histogram_folded.db"}
