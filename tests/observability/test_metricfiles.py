"""Values of many processes: added up, folded when a process ends."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from observability import exposition, metricfiles

# A process that counts, says so, and ends when its standard input does.
WORKER = """
import sys
from observability import metrics
requests = metrics.counter("management.http.request.counter.total")
named = metrics.counter("management.http.request.counter")
duration = metrics.histogram("management.http.request.duration.ms")
streams = metrics.gauge("management.grpc.connected.streams")
for n in range(int(sys.argv[1])):
    requests.inc()
    named.labels("/api/groups", "GET").inc()
    duration.labels("/api/groups", "GET").observe(n % 20)
streams.set(3)
print("counted", flush=True)
sys.stdin.read()
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

    def kill(self) -> int:
        self.process.kill()
        self.process.communicate()
        return self.process.pid


def text(directory: Path) -> str:
    families = exposition.complete(metricfiles.collect(directory))
    return exposition.render(families).decode()


def value(scrape: str, series: str) -> float:
    lines = [line for line in scrape.splitlines() if line.startswith(f"{series} ")]
    assert len(lines) == 1, lines
    return float(lines[0].rpartition(" ")[2])


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    metricfiles.prepare(tmp_path / "metrics")
    return tmp_path / "metrics"


def test_workers_are_added_up_and_survive_a_kill(directory: Path) -> None:
    workers = [Worker(directory, 100), Worker(directory, 50)]
    for worker in workers:
        worker.counted()
    before = text(directory)
    assert value(before, "management_http_request_counter_total") == 150
    assert value(before, "management_grpc_connected_streams") == 6
    named = 'management_http_request_counter{endpoint="/api/groups",method="GET"}'
    assert value(before, named) == 150

    metricfiles.fold(directory, workers[0].kill())
    after = text(directory)
    assert value(after, "management_http_request_counter_total") == 150
    assert value(after, named) == 150
    assert value(after, "management_grpc_connected_streams") == 3
    series = (
        'management_http_request_duration_ms_bucket{endpoint="/api/groups",'
        'method="GET",le='
    )
    assert value(after, series + '"0"}') == value(before, series + '"0"}') == 8
    assert value(after, series + '"+Inf"}') == 150
    workers[1].kill()


def test_folded_files_are_what_the_library_reads(directory: Path) -> None:
    for _ in range(2):
        worker = Worker(directory, 30)
        worker.counted()
        metricfiles.fold(directory, worker.kill())
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(directory))
    scrape = generate_latest(registry).decode()
    assert "management_http_request_counter_total 60.0" in scrape
    assert 'method="GET"} 60.0' in scrape


def test_a_file_that_is_being_made_is_skipped(directory: Path) -> None:
    (directory / "unknown_1.db").write_bytes(b"")
    assert metricfiles.collect(directory) == []


def test_counters_never_fall_while_workers_are_folded(directory: Path) -> None:
    workers = [Worker(directory, 10) for _ in range(4)]
    for worker in workers:
        worker.counted()
    seen, done = [], threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(value(text(directory), "management_http_request_counter_total"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for worker in workers:
        metricfiles.fold(directory, worker.kill())
    done.set()
    watcher.join()
    assert set(seen) == {40}


def _fill(directory: Path, pid: int, series: int = 500) -> None:
    """Make the files of a worker that met `series` label sets."""
    entries: metricfiles.Values = {}
    for n in range(series):
        key = f'["django_x","django_x_total",{{"view":"view{n}"}},"text"]'.encode()
        entries["counter", key] = (1.0, 0.0)
    metricfiles._write(directory / f"counter_{pid}.db", entries)


def _best_scrape(directory: Path) -> float:
    def once() -> float:
        begun = time.perf_counter()
        text(directory)
        return time.perf_counter() - begun

    return min(once() for _ in range(3))


def test_scrape_time_does_not_grow_with_workers_that_ended(directory: Path) -> None:
    for pid in range(1, 5):
        _fill(directory, pid)
    alone = _best_scrape(directory)
    for pid in range(1000, 1200):
        _fill(directory, pid)
        metricfiles.fold(directory, pid)
    assert len(list(directory.glob("*.db"))) == 5
    assert _best_scrape(directory) < 2 * alone + 0.01
    total = metricfiles.collect(directory)[0].samples[0].value
    assert total == 204


def test_64_live_workers_are_scraped_in_less_than_two_seconds(
    directory: Path,
) -> None:
    for pid in range(64):
        _fill(directory, pid, series=3000)
    assert _best_scrape(directory) < 2
