"""The queue for a file, such as SQLite's: between threads and between processes."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from meshmgmt.core.locks import Locked, is_locked, locked, queued
from meshmgmt.env import BASE_DIR
from tests.races import held_elsewhere, race

HOLDER = """
import sys
from meshmgmt.core.locks import queued
with queued(sys.argv[1], 5):
    print("mine", flush=True)
    sys.stdin.readline()
"""


GREEDY = """
import sys, threading, time
from meshmgmt.core.locks import queued
counts = [0, 0]
def work(number):
    while True:
        with queued(sys.argv[1], 20):
            time.sleep(0.002)
            counts[number] += 1
        time.sleep(0.0005)
for number in range(2):
    threading.Thread(target=work, args=(number,), daemon=True).start()
while not all(counts):
    time.sleep(0.001)
print("busy", flush=True)
before = sum(counts)
sys.stdin.readline()
print(sum(counts) - before, flush=True)
"""


def started(program: str, path: Path, says: str) -> "subprocess.Popen[str]":
    """Start a program that uses the lock until it reads a line or is killed."""
    command, pipe = [sys.executable, "-c", program, str(path)], subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=BASE_DIR, stdin=pipe, stdout=pipe, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{says}\n"
    return process


def test_threads_queue(tmp_path: Path):
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(50):
            with queued(str(tmp_path / "lock"), 20):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    race([work] * 8)
    assert most == [1]


def test_the_lock_of_another_process_is_waited_for(tmp_path: Path):
    path = tmp_path / "lock"
    process = started(HOLDER, path, "mine")
    with pytest.raises(Locked), queued(str(path), 0.05):
        pytest.fail("two had the lock")
    process.communicate("done\n")
    with queued(str(path), 5):
        pass


def test_a_busy_process_does_not_keep_others_waiting(tmp_path: Path):
    path = tmp_path / "lock"
    busy = started(GREEDY, path, "busy")
    for _ in range(100):
        with queued(str(path), 20):
            pass
        time.sleep(0.001)
    theirs = int(busy.communicate("enough\n")[0])
    assert theirs < 300  # in a fair queue it is 100


def test_a_killed_process_lets_go(tmp_path: Path):
    path = tmp_path / "lock"
    process = started(HOLDER, path, "mine")
    process.kill()
    process.communicate()
    with queued(str(path), 5):
        pass


def test_waiting_for_another_thread_ends(tmp_path: Path):
    path = str(tmp_path / "lock")
    with held_elsewhere(queued(path, 1)), pytest.raises(Locked), queued(path, 0.05):
        pytest.fail("two had the lock")


def test_without_a_folder_there_is_no_lock(tmp_path: Path):
    path = str(tmp_path / "missing" / "lock")
    with pytest.raises(OSError, match="No such file"), queued(path, 1):
        pytest.fail("a lock on nothing")


def test_a_failure_inside_lets_go(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), queued(str(tmp_path / "lock"), 1):
        raise ZeroDivisionError
    with queued(str(tmp_path / "lock"), 1):
        pass


def test_those_who_share_a_lock_keep_the_others_out(tmp_path: Path):
    path = tmp_path / "lock"
    assert not is_locked(path)
    with locked(path, shared=True, wait=0), locked(path, shared=True, wait=0):
        assert not is_locked(path)
        with pytest.raises(Locked), locked(path, wait=0):
            pytest.fail("one has it alone and shares it")
    with locked(path):
        assert is_locked(path)
    assert not is_locked(path)


def test_files_are_locked_in_one_place():
    rooms = ("meshmgmt", "dns", "groups", "events", "observability")
    modules = [path for room in rooms for path in (BASE_DIR / room).rglob("*.py")]
    calls = ("flock(", "lockf(", "fcntl.LOCK")
    texts = ((path.name, path.read_text()) for path in modules)
    locking = [name for name, text in texts if any(call in text for call in calls)]
    assert locking == ["locks.py"]
