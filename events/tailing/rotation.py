"""Where a rotated log went, and which file goes on after it.

A log is rotated by renaming it (`log` becomes `log.1`, a new `log` is made) or by copying
it (`log.1` is a copy, `log` is emptied); the old ones may be compressed later.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from events.tailing.lines import Mark
from events.tailing.sources import LogFile, SourceFault

_SUFFIX: Final = re.compile(r"[.-](\d[\d.T:_-]*)(\.(?:gz|zst))?", re.ASCII)
_ATTEMPTS: Final = 20


@dataclass(frozen=True, slots=True)
class Found:
    """The file to read next, and from where.

    With `again` its lines were all read before, in a file that begins like it. `loss` is
    what to tell the operator, if anything.
    """

    log: LogFile
    mark: Mark
    again: bool = False
    loss: str = ""


@dataclass(frozen=True, slots=True)
class _Sibling:
    """An old file of the log, as the folder listed it."""

    path: Path
    inode: int
    order: tuple[int, int, str]
    """Later files have greater ones: by time; of equal times `.1` is later than `.2`."""


def _siblings(path: Path) -> list[_Sibling]:
    """Return the old files beside a log, newest first."""
    found = []
    for entry in path.parent.iterdir():
        if not entry.name.startswith(path.name):
            continue
        match = _SUFFIX.fullmatch(entry.name[len(path.name) :])
        if match is None or not entry.is_file():
            continue
        try:
            state = entry.stat()
        except FileNotFoundError:
            continue
        number = -int(match[1]) if match[1].isdecimal() else 0
        order = (state.st_mtime_ns, number, entry.name)
        found.append(_Sibling(entry, state.st_ino, order))
    return sorted(found, key=lambda sibling: sibling.order, reverse=True)


def _opened(path: Path) -> LogFile | None:
    try:
        return LogFile.open(path)
    except (OSError, SourceFault):
        return None


def resume(path: Path, mark: Mark) -> Found:
    """Return where to go on with a log that was read up to `mark` once.

    Raises FileNotFoundError when neither the log nor a file it went to is there.
    """
    now = _opened(path)
    if now is not None and now.inode == mark.inode and now.holds(mark):
        return Found(now, mark)
    siblings = _siblings(path)
    same = [s for s in siblings if s.inode == mark.inode]
    if old := _first_that_holds(same, mark):
        return _instead(now, old, mark)
    if now is not None and now.holds(mark):
        return Found(now, mark)  # the log was replaced by a copy of itself
    if old := _first_that_holds([s for s in siblings if s not in same], mark):
        return _instead(now, old, mark)
    if now is None:
        raise FileNotFoundError(path)
    start = Mark(now.inode)
    if mark.head.length and now.begins_like(mark):
        return Found(now, start, again=True)
    return Found(
        now,
        start,
        loss=f"{path} is not the file that was read before, and what followed byte"
        f" {mark.position} of that one is not beside it: those lines are not read",
    )


def _instead(now: LogFile | None, old: LogFile, mark: Mark) -> Found:
    if now is not None:
        now.close()
    return Found(old, mark)


def _first_that_holds(siblings: list[_Sibling], mark: Mark) -> LogFile | None:
    for sibling in siblings:
        log = _opened(sibling.path)
        if log is None:
            continue
        try:
            if log.holds(mark) and (mark.position or log.inode == mark.inode):
                return log
        except SourceFault:  # a compressed file that is not complete yet
            pass
        log.close()
    return None


def successor(path: Path, log: LogFile, mark: Mark) -> Found | None:
    """Return what goes on after `log`, which was read to its end, `mark`.

    That is the oldest of the files rotated after it, else the log's new file; None while
    it is not made yet.
    """
    for _ in range(_ATTEMPTS):
        later = _next_sibling(path, log, mark)
        if later is None:
            break
        found = _opened(later.path)
        if found is not None and found.inode == later.inode:
            return Found(found, Mark(found.inode))
        if found is not None:
            found.close()  # renamed since: look again
    new = _opened(path)
    if new is None:
        return None
    if log.state().st_nlink == 0 and mark.position and new.holds(mark):
        return Found(new, mark)  # a copy of it took its place
    return Found(new, Mark(new.inode))


def _next_sibling(path: Path, log: LogFile, mark: Mark) -> _Sibling | None:
    siblings = _siblings(path)
    current = next((s for s in siblings if s.inode == log.inode), None)
    order = current.order if current else (log.state().st_mtime_ns, 0, "")
    plain = {s.path for s in siblings}
    for sibling in reversed(siblings):
        if sibling.order <= order or sibling.inode == log.inode:
            continue
        if sibling.path.suffix in {".gz", ".zst"} and (
            sibling.path.with_suffix("") in plain or _is_copy(sibling, mark)
        ):
            continue
        return sibling
    return None


def _is_copy(sibling: _Sibling, mark: Mark) -> bool:
    """Tell whether a compressed file is the one just read, or cannot be read yet."""
    log = _opened(sibling.path)
    if log is None:
        return True
    with log:
        try:
            return log.begins_like(mark)
        except SourceFault:
            return True
