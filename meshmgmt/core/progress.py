"""Progress bars of long commands: on a terminal only, on standard error."""

import sys
from collections.abc import Iterable
from typing import TypeVar

from tqdm import tqdm

ItemT = TypeVar("ItemT")


def bar(
    title: str, items: Iterable[ItemT], total: int | None = None
) -> Iterable[ItemT]:
    """Return `items` with a bar that counts them; bare where nobody would see it."""
    hidden = not sys.stderr.isatty()
    return tqdm(items, desc=title, total=total, disable=hidden, leave=False)
