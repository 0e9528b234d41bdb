"""Programs that tests drive for real: found, started on a port, stopped."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from meshmgmt.env import BASE_DIR
from tests.waiting import until


def program(name: str) -> str:
    """Return the path of a program; it may be absent outside of the CI alone."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed")
        pytest.skip(f"{name} is not installed")
    return found


def ran(
    *words: str | Path, check: bool = False, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, whatever comes of it; here, unless told otherwise."""
    given: dict[str, Any] = {"cwd": BASE_DIR, **options}
    return subprocess.run(words, check=check, capture_output=True, text=True, **given)


@contextmanager
def running(
    command: list[str], port: int, folder: Path, host: str = "127.0.0.1"
) -> Iterator[None]:
    """Run a program that listens until the block ends, then let it finish its log."""
    with (folder / "output").open("wb") as output:
        environment = {**os.environ, "HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env=environment
        )

    def listens() -> bool:
        assert process.poll() is None, (folder / "output").read_text()
        with suppress(OSError), socket.create_connection((host, port), 5):
            return True
        return False

    try:
        until(listens, (folder / "output").read_text)
        yield
    finally:
        process.terminate()
        process.wait(20)
