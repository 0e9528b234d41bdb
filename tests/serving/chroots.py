"""This machine once more: everything on it, and what changes there does not change it.

`copied` gives its files, `booted` also a systemd of its own, in namespaces.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.processes import children
from tests.waiting import until

ROOT: Final = """
mount -t tmpfs none "$1"
umask 022
mkdir "$1/changes" "$1/work" "$1/root"
mount -t overlay -o "lowerdir=/,upperdir=$1/changes,workdir=$1/work" none "$1/root"
"""
MOUNT: Final = f"""
{ROOT}
for place in proc dev sys; do mount --rbind "/$place" "$1/root/$place"; done
for place in run tmp; do mount -t tmpfs none "$1/root/$place"; done
echo mounted
exec sleep infinity
"""
# The kernel's settings can be read alone, for they are this machine's. systemd wants
# /dev/console for nothing, and a control group of its own at the root of what it sees.
BOOT: Final = f"""
{ROOT}
cd "$1/root"
mount -t proc none proc
mount --bind proc/sys proc/sys
mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro none sys
mount -t tmpfs none sys/fs/cgroup
mount -t cgroup2 none sys/fs/cgroup
for place in dev run tmp; do mount -t tmpfs none $place; done
mkdir dev/pts dev/shm
for name in null zero full random urandom tty; do
  touch dev/$name
  mount --bind /dev/$name dev/$name
done
mount -t devpts -o newinstance,ptmxmode=0666 none dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ip link set lo up
# Nothing that is enabled here begins there; what a package enables does.
rm -rf etc/systemd/system/*.wants usr/sbin/policy-rc.d
for name in systemd-modules-load systemd-udevd systemd-udev-trigger; do
  ln -sf /dev/null etc/systemd/system/$name.service
done
echo mounted
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  chroot . /lib/systemd/systemd --unit=multi-user.target --log-target=journal
"""
NAMESPACES: Final = ("--mount", "--pid", "--net", "--ipc", "--uts", "--cgroup")


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy, whose root only a process of its namespaces sees."""

    pid: int
    root: Path
    namespaces: tuple[str, ...] = ("--mount",)

    @property
    def within(self) -> list[str]:
        """The words that begin a command there."""
        entered = ["nsenter", f"--target={self.pid}", *self.namespaces]
        path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
        words = ["env", "--ignore-environment", path, "DEBIAN_FRONTEND=noninteractive"]
        return [*entered, "chroot", str(self.root), *words]

    def run(self, *words: str, given: str = "", status: int = 0) -> str:
        """Run a command there, as root; return what it printed."""
        done = self.tried(*words, given=given)
        assert done.returncode == status, f"{words}: {done.stdout}"
        return done.stdout

    def tried(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command there that may fail."""
        return subprocess.run(
            [*self.within, *words],
            check=False,
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

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
    command = ["unshare", "--mount", "--propagation=private", "sh", "-ec", MOUNT]
    with _held([*command, "sh", str(folder)]) as holder:
        yield Copy(holder.pid, folder / "root")


@contextmanager
def booted(folder: Path) -> Iterator[Copy]:
    """Make a copy and boot it; skip the test where that is not allowed."""
    with _control_group() as group:
        join = f'echo $$ > {group}/cgroup.procs && exec unshare "$@"'
        spaces = [*NAMESPACES, "--propagation=private", "--fork", "--kill-child"]
        command = [
            "sh",
            "-c",
            join,
            "sh",
            *spaces,
            "sh",
            "-ec",
            BOOT,
            "sh",
            str(folder),
        ]
        with _held(command) as holder:
            [init] = children(holder.pid)
            copy = Copy(init, folder / "root", NAMESPACES)
            state = partial(copy.tried, "systemctl", "is-system-running")
            up = {"running", "degraded"}
            until(lambda: state().stdout.strip() in up, "the end of the boot")
            yield copy


@contextmanager
def _held(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Run what makes and holds a copy; skip the test where that is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            if (said := holder.stdout.readline().strip()) != "mounted":
                pytest.skip(f"no overlay over the root of this machine: {said}")
            yield holder
        finally:
            holder.kill()


@contextmanager
def _control_group() -> Iterator[Path]:
    """Make a group below this process's own; skip the test where there is none."""
    mounts = Path("/proc/self/mountinfo").read_text()
    found = re.search(r"^\S+ \S+ \S+ / (\S+) .* - cgroup2 ", mounts, re.MULTILINE)
    own = re.search(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
    if found is None or own is None or os.geteuid() != 0:
        pytest.skip("no control groups (version 2) to be root in")
    group = Path(found[1]) / own[1] / f"meshmgmt-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group may be made: {error}")
    try:
        yield group
    finally:
        (group / "cgroup.kill").write_text("1")
        until(partial(_removed, group), "the end of all processes of the copy")


def _removed(group: Path) -> bool:
    """Remove a group with those in it; tell whether nothing holds it any more."""
    try:
        for folder in sorted(group.rglob("*/"), reverse=True):
            folder.rmdir()
        group.rmdir()
    except OSError:
        return False
    return True
