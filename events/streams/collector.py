"""Holds the garbage collector off while a batch is taken in."""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final


class _Holders:
    """How many batches are being taken in by the threads of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0


_holders: Final = _Holders()


@contextmanager
def collector_held() -> Iterator[None]:
    """Run a block without collections.

    A batch is a hundred thousand objects without a single cycle; walking them again and
    again takes as long as checking them.
    """
    with _holders.lock:
        _holders.count += 1
        gc.disable()
    try:
        yield
    finally:
        with _holders.lock:
            _holders.count -= 1
            if not _holders.count:
                gc.enable()
