"""Small charts of the admin site: SVG that the server draws, so pages need no script."""

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 300
HEIGHT: Final = 60
_FILLED: Final = 0.8
"""The part of its place that a column fills."""


def columns(values: Sequence[float | None]) -> str:
    """Return an SVG path of columns side by side, the largest `HEIGHT` high.

    Nothing stands for None and 0; what is more is at least one unit high.
    """
    largest = max(filter(None, values), default=0)
    place = WIDTH / max(len(values), 1)
    return "".join(
        # Something is never drawn as nothing.
        _column(number * place, place * _FILLED, max(1, HEIGHT * value / largest))
        for number, value in enumerate(values)
        if value
    )


def _column(left: float, width: float, height: float) -> str:
    return f"M{left:.1f} {HEIGHT}v-{height:.1f}h{width:.1f}v{height:.1f}z"
