"""Runs a command under the system call filter that the units of production have.

`python confined.py COMMAND...`: systemd is needed for the list of calls alone, so this
works where it does not run. Memory is never both writable and executable, as in a unit.
"""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

UNITS: Final = Path(__file__).parents[2] / "deploy" / "systemd"
COMMON: Final = UNITS / "meshmgmt-.service.d" / "common.conf"
_ALLOW: Final = 0x7FFF0000
_EPERM: Final = 0x00050000 | 1
_PR_SET_MDWE: Final = 65
_PR_SET_NO_NEW_PRIVS: Final = 38


def members(group: str) -> set[str]:
    """Return the system calls of a group of systemd, those of its groups too."""
    printed = subprocess.run(
        ["systemd-analyze", "syscall-filter", group],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = set(re.findall(r"^    ([@\w-]+)$", printed, re.MULTILINE))
    groups = {name for name in names if name.startswith("@")}
    return (names - groups).union(*map(members, groups))


def allowed(text: str) -> set[str]:
    """Return the system calls that the `SystemCallFilter=` lines of a unit let through."""
    calls = members("@default")
    for words in re.findall(r"^SystemCallFilter=(.*)$", text, re.MULTILINE):
        for word in words.split():
            if word.startswith("~"):
                calls -= members(word[1:])
            else:
                calls |= members(word)
    return calls


def confine(calls: set[str]) -> None:
    """Refuse this process and its children every other system call (EPERM)."""
    seccomp, libc = ctypes.CDLL("libseccomp.so.2"), ctypes.CDLL(None)
    seccomp.seccomp_init.restype = ctypes.c_void_p
    held = ctypes.c_void_p(seccomp.seccomp_init(_EPERM))
    for name in calls:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:
            seccomp.seccomp_rule_add(held, _ALLOW, number, 0)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError("no_new_privs")
    if "MemoryDenyWriteExecute=yes" in COMMON.read_text():
        libc.prctl(_PR_SET_MDWE, 1, 0, 0, 0)
    if seccomp.seccomp_load(held):
        raise OSError("the filter was refused")


if __name__ == "__main__":
    confine(allowed(COMMON.read_text()))
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell is wanted
