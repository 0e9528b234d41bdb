"""Values of many processes: the files of prometheus_client added up and folded.

The library keeps one file per process and kind in `PROMETHEUS_MULTIPROC_DIR`. Its own
collector parses each entry of each file and keeps the files of dead processes for ever,
so a scrape grows with every worker that ever ran. Here entries are added by their raw
key, and the files of a dead process are folded into one (`fold`).

File format (prometheus_client 0.26, mmap_dict): int32 bytes used, 4 bytes padding, then
entries of int32 key length, key padded to 8 bytes, value and timestamp as doubles.
"""

import fcntl
import json
import os
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from observability.exposition import Family, Labels, Sample, named_family, number

FOLDED: Final = "folded"
_LOCK: Final = "lock"
_HEADER: Final = 8
_INT: Final = struct.Struct("=i")
_DOUBLES: Final = struct.Struct("=dd")

Entry = tuple[bytes, float, float]
Key = tuple[str, bytes]
Values = dict[Key, tuple[float, float]]
"""(kind, raw key) -> (value, timestamp); kind is `counter`, `gauge_livesum`, ..."""


def prepare(directory: Path) -> None:
    """Make the directory and remove the files of an earlier server."""
    directory.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.db"):
        path.unlink(missing_ok=True)


def collect(directory: Path) -> list[Family]:
    """Return the families of all processes, dead ones included."""
    with _locked(directory, fcntl.LOCK_SH):
        values = _add_up(_files(directory))
    return _families(values)


def fold(directory: Path, pid: int) -> None:
    """Add the values of the dead process `pid` to the folded ones and drop its files.

    Gauges that describe live processes vanish with it. A scrape sees either the files
    or what was folded, never both. Raises OSError when nothing could be written; the
    files are then left as they are, and still counted.
    """
    with _locked(directory, fcntl.LOCK_EX):
        for path in directory.glob(f"*_{pid}.db"):
            kind = _kind(path)
            if not kind.startswith("gauge_live"):
                target = directory / f"{kind}_{FOLDED}.db"
                known = [target] if target.exists() else []
                _write(target, _add_up([*known, path]))
            path.unlink()


@contextmanager
def _locked(directory: Path, mode: int) -> Iterator[None]:
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, mode)
        yield
    finally:
        # A worker forked meanwhile has the descriptor too: closing would not unlock.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.db"))


def _kind(path: Path) -> str:
    return path.stem.rpartition("_")[0]


def _used_part(path: Path) -> bytes:
    """Return the file without the space kept for more entries."""
    with path.open("rb") as file:
        head = file.read(_HEADER)
        if len(head) < _HEADER:
            return b""  # a process that is making its file this very moment
        return head + file.read(max(0, _INT.unpack_from(head)[0] - _HEADER))


def _entries(data: bytes) -> Iterator[Entry]:
    if not data:
        return
    used = min(_INT.unpack_from(data)[0], len(data))
    position = _HEADER
    while position < used:
        length = _INT.unpack_from(data, position)[0]
        start = position + 4
        position = start + length
        # The key's padding is part of the entry, and not of its stated length.
        position += 8 - (length + 4) % 8
        value, timestamp = _DOUBLES.unpack_from(data, position)
        yield data[start : start + length], value, timestamp
        position += 16


def _add_up(paths: Iterable[Path]) -> Values:
    values: Values = {}
    for path in paths:
        kind = _kind(path)
        pid = path.stem.rpartition("_")[2]
        for key, value, timestamp in _entries(_used_part(path)):
            name = (kind, key if kind not in _BY_PROCESS else _with_pid(key, pid))
            known = values.get(name)
            if known is None:
                values[name] = (value, timestamp)
            else:
                values[name] = _joined(kind, known, (value, timestamp))
    return values


_BY_PROCESS: Final = frozenset({"gauge_all", "gauge_liveall"})


def _with_pid(key: bytes, pid: str) -> bytes:
    metric, name, labels, text = json.loads(key)
    return json.dumps([metric, name, {**labels, "pid": pid}, text]).encode()


def _joined(
    kind: str, known: tuple[float, float], new: tuple[float, float]
) -> tuple[float, float]:
    if kind.endswith("max"):
        return max(known, new)
    if kind.endswith("min"):
        return min(known, new)
    if kind.endswith("mostrecent"):
        return max(known, new, key=lambda pair: pair[1])
    return known[0] + new[0], 0.0


def _write(path: Path, values: Values) -> None:
    parts, used = [], _HEADER
    for (_, key), (value, timestamp) in values.items():
        padding = b" " * (8 - (len(key) + 4) % 8)
        parts.append(_INT.pack(len(key)) + key + padding)
        parts.append(_DOUBLES.pack(value, timestamp))
        used += 4 + len(key) + len(padding) + _DOUBLES.size
    body = _INT.pack(used) + bytes(4) + b"".join(parts)
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(body)
    temporary.replace(path)


def _families(values: Values) -> list[Family]:
    families: dict[str, Family] = {}
    buckets: dict[str, dict[Labels, dict[float, float]]] = defaultdict(dict)
    for (kind, key), (value, _) in values.items():
        metric, name, labels, text = json.loads(key)
        family = families.get(metric)
        if family is None:
            family = named_family(metric, kind.partition("_")[0], text)
            families[metric] = family
        if name.endswith("_bucket") and kind == "histogram":
            bound = float(labels.pop("le"))
            series = buckets[metric].setdefault(tuple(sorted(labels.items())), {})
            series[bound] = value
        else:
            pairs = tuple(sorted(labels.items()))
            family.samples.append(Sample(name, pairs, value))
    for metric, by_labels in buckets.items():
        for labels, series in by_labels.items():
            families[metric].samples.extend(_cumulative(metric, labels, series))
    return list(families.values())


def _cumulative(
    metric: str, labels: Labels, series: dict[float, float]
) -> Iterator[Sample]:
    """Yield buckets that include the lower ones, as the format wants, and the count."""
    total = 0.0
    for bound, value in sorted(series.items()):
        total += value
        yield Sample(f"{metric}_bucket", (*labels, ("le", number(bound))), total)
    yield Sample(f"{metric}_count", labels, total)
