"""Files that outlast a power cut: written whole or not at all, or grown by lines.

No Django.
"""

import errno
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from meshmgmt.core.locks import lock


@contextmanager
def written(path: Path, name: Callable[[Path], object]) -> Iterator[IO[bytes]]:
    """Yield a file for the content of `path`, its owner's alone.

    Once that is on the disk `name` gives it the name, told what it is called until then:
    `Path.replace`, or what spares a file that is there. Raises OSError.
    """
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=f".{path.name}.", suffix=".tmp", delete=False
    ) as file:  # 0600
        temporary = Path(file.name)
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            name(temporary)
        finally:
            temporary.unlink(missing_ok=True)
    # The name is in the folder, not in the file.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def opened(path: Path) -> IO[bytes]:
    """Open a file to append to, its owner's alone, behind no link. Raises OSError."""
    # O_APPEND: lines of several processes never overwrite each other.
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    return open(os.open(path, flags, 0o600), "r+b", buffering=0)  # noqa: PTH123 - flags


def is_torn(file: IO[bytes]) -> bool:
    """Tell whether its last line has no end: a crash cut it off."""
    size = file.seek(0, os.SEEK_END)
    return size > 0 and os.pread(file.fileno(), 1, size - 1) != b"\n"


def append(file: IO[bytes], lines: Sequence[bytes]) -> None:
    """Append lines, all or none; they are on the disk when this returns. Raises OSError.

    The file is locked from here on until it is closed.
    """
    # Or what another appends meanwhile would go with a part that is taken back.
    lock(file)
    data = b"".join(line + b"\n" for line in lines)
    if is_torn(file):
        data = b"\n" + data  # what was cut off stands alone
    size = file.seek(0, os.SEEK_END)
    try:
        # Unbuffered: a full disk takes a part, and tells so by the number alone.
        if file.write(data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file.fileno())
    except BaseException:
        # A part of a batch would come again with the whole of it.
        file.truncate(size)
        raise
