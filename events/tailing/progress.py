"""Shows how far the reading of a log is."""

import sys
from collections.abc import Callable
from typing import Any, Final, Self

from tqdm import tqdm

_STEP: Final = 100
"""Lines between two looks at the position."""


class Progress:
    """A bar of lines and their rate; of bytes, with percent, where the end is known."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._lines = 0
        self._position: Callable[[], tuple[int, int]] | None = None
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def measure(self, position: Callable[[], tuple[int, int]]) -> None:
        """Show bytes: `position` tells how many were read, and of how many."""
        self._position = position

    def count(self) -> None:
        """Count a line."""
        self._lines += 1
        if self._shown and self._lines % _STEP == 0:
            self._show()

    def say(self, text: str) -> None:
        """Write a line that stays above the bar."""
        tqdm.write(text, file=sys.stderr)

    def close(self) -> None:
        """Show the end and leave the bar as it is."""
        if self._shown and self._lines:
            self._show()
        if self._bar is not None:
            self._bar.close()
        self._shown = False

    def _show(self) -> None:
        if self._position is None:
            if self._bar is None:
                self._bar = tqdm(unit=" lines")
            self._bar.update(self._lines - self._bar.n)
            return
        done, total = self._position()
        if self._bar is None:
            self._bar = tqdm(unit="B", unit_scale=True, unit_divisor=1024)
        if done < self._bar.n:  # the next file
            self._bar.reset()
        self._bar.total = total
        self._bar.set_postfix_str(f"{self._lines:,} lines", refresh=False)
        self._bar.update(done - self._bar.n)
