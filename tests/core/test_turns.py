"""Turns at writing to an SQLite file: between threads and between processes."""

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from django.db import OperationalError

from meshmgmt.core.turns import turn
from meshmgmt.env import BASE_DIR

HOLDER = """
import sys
from meshmgmt.core.turns import turn
with turn(sys.argv[1], 5):
    print("mine", flush=True)
    sys.stdin.readline()
"""


GREEDY = """
import sys, threading, time
from meshmgmt.core.turns import turn
counts = [0, 0]
def work(number):
    while True:
        with turn(sys.argv[1], 20):
            time.sleep(0.002)
            counts[number] += 1
        time.sleep(0.0005)
for number in range(2):
    threading.Thread(target=work, args=(number,), daemon=True).start()
time.sleep(0.1)
print("busy", flush=True)
before = sum(counts)
sys.stdin.readline()
print(sum(counts) - before, flush=True)
"""


def hold_in_another_process(path: Path) -> "subprocess.Popen[str]":
    """Start a process that has the turn until it reads a line or is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        cwd=BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "mine\n"
    return process


def test_threads_take_turns(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(50):
            with turn(str(tmp_path / "turn"), 20):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_a_turn_of_another_process_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "turn"
    process = hold_in_another_process(path)
    with pytest.raises(OperationalError, match="busy"), turn(str(path), 0.05):
        pytest.fail("two had the turn")
    process.communicate("done\n")
    with turn(str(path), 5):
        pass


def test_a_busy_process_does_not_keep_others_waiting(tmp_path: Path) -> None:
    path = str(tmp_path / "turn")
    busy = subprocess.Popen(
        [sys.executable, "-c", GREEDY, path],
        cwd=BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert busy.stdout is not None
    assert busy.stdout.readline() == "busy\n"
    for _ in range(100):
        with turn(path, 20):
            pass
        time.sleep(0.001)
    theirs = int(busy.communicate("enough\n")[0])
    assert theirs < 300  # taking turns fairly it is 100


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "turn"
    process = hold_in_another_process(path)
    process.kill()
    process.communicate()
    with turn(str(path), 5):
        pass


def test_waiting_for_another_thread_ends(tmp_path: Path) -> None:
    path = str(tmp_path / "turn")
    done, taken = threading.Event(), threading.Event()

    def hold() -> None:
        with turn(path, 1):
            taken.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(20)
    with pytest.raises(OperationalError, match="busy"), turn(path, 0.05):
        pytest.fail("two had the turn")
    done.set()
    thread.join()


def test_without_a_file_there_is_no_turn(tmp_path: Path) -> None:
    with (
        pytest.raises(OperationalError, match="cannot be written"),
        turn(str(tmp_path / "missing" / "turn"), 1),
    ):
        pytest.fail("a turn at nothing")


def test_a_failure_inside_lets_go(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), turn(str(tmp_path / "turn"), 1):
        raise ZeroDivisionError
    with turn(str(tmp_path / "turn"), 1):
        pass
