"""Values of many processes: prometheus_client's multiprocess mode, and its dead folded.

Each process that counts keeps one file per kind and process id in
`PROMETHEUS_MULTIPROC_DIR`; the library adds them up. The files of processes that have
ended stay, or counters would fall, so a scrape would take longer with every worker that
ever ran: `fold_dead` puts what they counted into one file per kind.
"""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from meshmgmt.core.locks import locked

if TYPE_CHECKING:
    # The library decides at its first import whether values are shared.
    from prometheus_client import Metric

VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_FOLDED: Final = "folded"
_FOLDED_INTO: Final = ".into-"
_LOCK: Final = "lock"
_ADDED_UP: Final = ("counter", "histogram", "summary")


def share(directory: Path) -> None:
    """Let this process count in files; before prometheus_client is imported."""
    directory.mkdir(parents=True, exist_ok=True)
    os.environ[VARIABLE] = str(directory)
    from observability.metrics import reserved  # noqa: PLC0415

    reserved.use()


def forget_dead(directory: Path) -> None:
    """Remove what ended processes counted: a starting server begins at zero."""
    directory.mkdir(parents=True, exist_ok=True)
    with locked(directory / _LOCK):
        for path in directory.glob("*.db"):
            if not _lives(path):
                path.unlink()


def live_pids(directory: Path) -> set[int]:
    """Return the live processes that count here."""
    return {int(_owner(path)) for path in directory.glob("*.db") if _lives(path)}


def collect(directory: Path) -> "list[Metric]":
    """Return the values of all processes, dead ones included, but for live gauges."""
    from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

    with locked(directory / _LOCK, shared=True):
        return list(MultiProcessCollector.merge(_files(directory)))


def _files(directory: Path) -> list[str]:
    """Return the files to add up; an empty one is just being made."""
    return [
        str(path)
        for path in directory.glob("*.db")
        if path.stat().st_size
        and (_lives(path) or not (_is_live_gauge(path) or _is_folded(path)))
    ]


def fold_dead(directory: Path) -> None:
    """Add what ended processes counted to the folded values, and drop their files.

    A scrape sees either the files or what was folded. Raises OSError when nothing could
    be written; the files are then left as they are, and still counted.
    """
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

    folding = directory / "folding"
    with locked(directory / _LOCK):
        for path in filter(_is_folded, directory.glob("*.db")):
            path.unlink()
        dead = [p for p in directory.glob("*.db") if not _lives(p)]
        for pid in {_owner(path) for path in dead} - {_FOLDED}:
            # Drops gauges that only live processes count.
            mark_process_dead(pid, str(directory))
        for kind in _ADDED_UP:
            target = directory / f"{kind}_{_FOLDED}.db"
            files = [p for p in dead if p.name.startswith(kind) and p.stat().st_size]
            if files and files != [target]:
                # No scrape reads a file of that name; it gets its own as a whole.
                _write_sum(folding, files)
                # Each is told by its name where its values went: a kill in between must
                # neither lose them nor count them twice.
                mark = f"{_FOLDED_INTO}{folding.stat().st_ino}.db"
                added = [p.rename(p.with_suffix(mark)) for p in files if p != target]
                folding.replace(target)
                for path in added:
                    path.unlink()


def _write_sum(path: Path, files: list[Path]) -> None:
    from prometheus_client.mmap_dict import mmap_key  # noqa: PLC0415
    from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415

    from observability.metrics.reserved import Reserved  # noqa: PLC0415

    path.unlink(missing_ok=True)
    with closing(Reserved(str(path))) as values:
        # Not accumulated: buckets are added up when they are read.
        for metric in MultiProcessCollector.merge(map(str, files), accumulate=False):
            for sample in metric.samples:
                names, labels = list(sample.labels), list(sample.labels.values())
                key = mmap_key(
                    metric.name, sample.name, names, labels, metric.documentation
                )
                values.write_value(key, sample.value, 0.0)


def _owner(path: Path) -> str:
    return path.stem.rpartition("_")[2]


def _lives(path: Path) -> bool:
    owner = _owner(path)
    return owner != _FOLDED and Path(f"/proc/{owner}").exists()


def _is_folded(path: Path) -> bool:
    """Tell whether the folded file holds its values; a kill left it behind then."""
    _, into, inode = path.stem.rpartition(_FOLDED_INTO)
    target = path.with_name(f"{path.name.partition('_')[0]}_{_FOLDED}.db")
    return bool(into) and target.exists() and inode == str(target.stat().st_ino)


def _is_live_gauge(path: Path) -> bool:
    return path.name.startswith("gauge_live")
