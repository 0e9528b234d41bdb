"""Disks that are small, and full."""

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.programs import ran


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """Have a real file system of 24 MiB at a new folder; skips who is not root."""
    folder.mkdir()
    made = ran("mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", folder)
    if made.returncode != 0:
        pytest.skip("mounting a file system needs root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def filled(disk: Path) -> Path:
    """Take all blocks that are left; returns the file that has them."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, pytest.raises(OSError, match="No"):
        while True:
            file.write(bytes(4096))
    return filler


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a disk that is full by then."""
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
