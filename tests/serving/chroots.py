"""This machine once more: everything on it, and what changes there does not change it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

MOUNT: Final = """
mount -t tmpfs none "$1"
umask 022
mkdir "$1/changes" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" none "$1/root"
for place in proc dev sys; do mount --rbind "/$place" "$1/root/$place"; done
for place in run tmp; do mount -t tmpfs none "$1/root/$place"; done
echo mounted
exec sleep infinity
"""


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy, whose root only a process of its mount namespace sees."""

    pid: int
    root: Path

    @property
    def within(self) -> list[str]:
        """The words that begin a command there."""
        entered = ["nsenter", f"--target={self.pid}", "--mount"]
        path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
        words = ["env", "--ignore-environment", path, "DEBIAN_FRONTEND=noninteractive"]
        return [*entered, "chroot", str(self.root), *words]

    def run(self, *words: str, given: str = "", status: int = 0) -> str:
        """Run a command there, as root; return what it printed."""
        done = subprocess.run(
            [*self.within, *words],
            check=False,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == status, f"{words}: {done.stdout}"
        return done.stdout

    def put(self, path: Path) -> str:
        """Copy a file into its folder /root; return its path there."""
        there = f"/root/{path.name}"
        command = [*self.within, "sh", "-c", f"cat > {there}"]
        with path.open("rb") as file:
            subprocess.run(command, stdin=file, check=True)
        return there


@contextmanager
def copied(folder: Path) -> Iterator[Copy]:
    """Make a copy in a folder; skip the test where that is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    command = ["unshare", "--mount", "--propagation=private", "sh", "-ec", MOUNT]
    with subprocess.Popen(
        [*command, "sh", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as holder:
        try:
            assert holder.stdout is not None
            if (said := holder.stdout.readline().strip()) != "mounted":
                pytest.skip(f"no overlay over the root of this machine: {said}")
            yield Copy(holder.pid, folder / "root")
        finally:
            holder.kill()
