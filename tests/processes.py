"""The processes of this machine, as /proc tells of them."""

from pathlib import Path


def children(pid: int) -> set[int]:
    """Return the processes that a process started."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return {int(word) for task in tasks for word in _read(task).split()}


def descendants(pid: int) -> set[int]:
    """Return the processes that a process started, and those that they did."""
    direct = children(pid)
    return direct.union(*map(descendants, direct))


def ended(pid: int) -> bool:
    """Tell whether a process is gone, or waits for its parent to notice."""
    state = file_of(pid, "stat").rpartition(b")")[2].split()
    return not state or state[0] == b"Z"


def file_of(pid: int, name: str) -> bytes:
    """Return a file of a process; nothing when it ends before or while it is read."""
    return _read(Path(f"/proc/{pid}/{name}"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
