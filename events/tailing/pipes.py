"""Lines of a pipe: standard input, a FIFO, a shell's `<(...)`."""

import os
import select
from collections.abc import Callable, Iterator

from events.tailing.following import POLL_SECONDS
from events.tailing.lines import Line, Pause, Splitter
from events.tailing.sources import CHUNK


def read_pipe(descriptor: int, stopped: Callable[[], bool]) -> Iterator[Line | Pause]:
    """Yield lines until the pipe ends, and a pause whenever nothing comes for a moment.

    Half a line is taken at the pipe's end, and left out when the reading is stopped.
    """
    splitter = Splitter()
    while not stopped():
        ready, _, _ = select.select([descriptor], [], [], POLL_SECONDS)
        if not ready:
            yield Pause()
            continue
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            continue
        if not data:
            if line := splitter.unfinished():
                yield line
            return
        yield from splitter.feed(data)
