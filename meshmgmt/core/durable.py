"""Files that are written whole or not at all, and outlast a power cut. No Django."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


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
