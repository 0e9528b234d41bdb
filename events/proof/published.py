"""Tree heads in a file beside the database: what that has said, it cannot unsay there.

One head a line, as the API shows them, in the order of their sizes. Housekeeping adds
what is new; whoever changes, rewinds or wipes the database contradicts what is there.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Final

import orjson
from django.conf import settings

from events.activities import Activity
from events.audit.emission import audit_record
from events.models import AuditHead, AuditTile
from events.proof import heads, tree
from events.proof.hashing import parse_head
from events.proof.heads import Row
from meshmgmt.core import files
from meshmgmt.core.locks import lock
from meshmgmt.env import PROGRAM

log = logging.getLogger(__name__)

FILE: Final = "audit-heads.ndjson"
ACCEPT: Final = f"{PROGRAM} audit heads --accept-restore"
_AT_ONCE: Final = 1000
_LONGEST: Final = 4096
"""Bytes of a line, at most; heads have some 300."""


class Contradiction(Exception):
    """The trail is not the one of a head that was published; one sentence."""


class NothingToAccept(Exception):
    """The trail goes on from all that was published; one sentence."""


def own_file() -> Path:
    """Return the file of this host, which housekeeping writes."""
    return settings.SVC.data_dir / FILE


def publish(path: Path | None = None) -> int:
    """Append the heads that the file does not have yet; return how many.

    Raises Contradiction, OSError.
    """
    path = path or own_file()
    if heads.newest() is None and not path.exists():
        return 0
    with _locked(path) as file:
        last = _last(path, file)
        if last is not None and (fault := contradiction(last, tree.extent().size)):
            raise Contradiction(f"{path}: {described(last)} {fault}; {HINT}")
        count = 0
        fresh = _heads_after(0 if last is None else last["tree_size"])
        while found := list(islice(fresh, _AT_ONCE)):
            files.append(file, [orjson.dumps(heads.row(head)) for head in found])
            count += len(found)
        return count


def newest(path: Path) -> Row | None:
    """Return the head published last, None without one. Raises Contradiction, OSError."""
    try:
        with path.open("rb", buffering=0) as file:
            return _last(path, file)
    except FileNotFoundError:
        return None


def contradiction(head: Row, size: int) -> str:
    """Return how the stored tree of that size contradicts a head, "" when it does not."""
    if head["tree_size"] > size:
        return behind(size)
    try:
        root = tree.tree_at(head["tree_size"]).root().hex()
    except AuditTile.DoesNotExist:
        return "cannot be compared: parts of the stored tree are missing"
    return "" if root == head["root_hash"] else ANOTHER


ANOTHER: Final = (
    "is of another tree: events that it covers were changed, removed or added"
)
HINT: Final = f"only if you restored a backup of before that head: `{ACCEPT}`"


def behind(size: int) -> str:
    """Return what is wrong with a head that is ahead of a tree of this size."""
    return (
        f"is ahead of the trail, of which {size} events are in the tree: the database"
        " was rewound or wiped, or is a backup of before that head"
    )


def described(head: Row) -> str:
    """Return a head as one reads it aloud: time, size and beginning of the root."""
    return f"the head of {head['timestamp']} ({heads.short(head)})"


def is_contradicted() -> bool:
    """Tell whether the trail is not that of the head published last."""
    try:
        last = newest(own_file())
    except (Contradiction, OSError):
        return True  # who spoils the file must not pass for one who has nothing to hide
    return last is not None and bool(contradiction(last, tree.extent().size))


def accept_restore() -> Path:
    """Put the published heads aside that a restored database cannot have.

    The trail tells it, and a new file begins. Returns where the old one is now. Raises
    NothingToAccept, Contradiction, OSError.
    """
    path = own_file()
    last = newest(path)
    if last is None:
        raise NothingToAccept(f"{path} has no head: there is nothing to accept")
    if not contradiction(last, tree.extent().size):
        raise NothingToAccept(f"the trail goes on from all heads in {path}")
    aside = path.with_name(f"{path.stem}-{last['tree_size']}-{last['root_hash'][:16]}")
    aside = aside.with_suffix(path.suffix)
    facts = {name: str(last[name]) for name in ("tree_size", "root_hash", "timestamp")}
    audit_record(Activity.AUDIT_RESTORE_ACCEPT, target_id="audit", meta=facts)
    # After the event: if it cannot be written, the old file still contradicts.
    path.rename(aside)
    heads.keep_up()
    publish()
    return aside


def _heads_after(size: int) -> Iterator[AuditHead]:
    """Yield the heads of larger trees, the oldest first: ids grow with the sizes."""
    known = AuditHead.objects.filter(tree_size__lte=size).order_by("-id").first()
    later = AuditHead.objects.filter(id__gt=known.pk if known else 0)
    return later.order_by("id").iterator(chunk_size=_AT_ONCE)


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Yield the file, open for one process alone, without a line that was cut off."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with files.opened(path) as file:
        lock(file)
        if files.is_torn(file):
            log.warning("%s: its last line was cut off, and is written anew", path)
            whole, _ = _ending(file)
            file.truncate(whole)
        yield file


def _last(path: Path, file: IO[bytes]) -> Row | None:
    """Return the head in the last whole line. Raises Contradiction when it is none."""
    _, line = _ending(file)
    if not line:
        return None
    try:
        return parse_head(line)
    except ValueError as error:
        raise Contradiction(
            f"{path}: its last line is no tree head ({error}): look at it, move it away"
        ) from error


def _ending(file: IO[bytes]) -> tuple[int, bytes]:
    """Return where the last whole line ends, and that line."""
    size = file.seek(0, os.SEEK_END)
    # Room for a whole line before one that was cut off. Read at a place of its own: the
    # file is open for appending, and where it stands is left alone.
    start = max(0, size - 2 * _LONGEST)
    text = os.pread(file.fileno(), size - start, start)
    whole = text[: text.rfind(b"\n") + 1]
    return start + len(whole), whole.rstrip(b"\n").rpartition(b"\n")[2]
