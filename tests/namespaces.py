"""Network namespaces: machines with a network of their own on this one. They need root."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Namespace:
    """One machine, joined to this one by a pair of virtual interfaces."""

    number: int
    network: str
    """The first two numbers of the addresses at both ends."""

    @property
    def name(self) -> str:
        return f"mesh-{os.getpid()}-{self.number}"

    @property
    def address(self) -> str:
        """The machine's own."""
        return f"{self.network}.{self.number}.2"

    @property
    def outside(self) -> str:
        """Ours, as the machine sees us."""
        return f"{self.network}.{self.number}.1"

    @property
    def within(self) -> tuple[str, ...]:
        """The words that begin a command on the machine."""
        return ("ip", "netns", "exec", self.name)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Make it and join it to this machine; remove it in the end."""
        here, inside = f"m{os.getpid()}-{self.number}", f"-n {self.name} "
        _ip(f"netns add {self.name}")
        try:
            _ip(f"link add {here} type veth peer eth0 netns {self.name}")
            _ip(f"address add {self.outside}/24 dev {here}")
            _ip(f"link set {here} up")
            _ip(inside + "link set lo up")
            _ip(inside + f"address add {self.address}/24 dev eth0")
            _ip(inside + "link set eth0 up")
            _ip(inside + f"route add default via {self.outside}")
            yield
        finally:
            _ip(f"netns delete {self.name}")

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        """Let nothing pass between the machine and this one."""
        here = f"m{os.getpid()}-{self.number}"
        _ip(f"link set {here} down")
        try:
            yield
        finally:
            _ip(f"link set {here} up")

    def kill(self) -> None:
        """End all its processes at once, as a loss of power does."""
        while pids := _ip(f"netns pids {self.name}").split():
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)


def _ip(words: str) -> str:
    command = ["ip", *words.split()]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
