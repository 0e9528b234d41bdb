"""What a check of the stored trail looked at, and what it found."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

Watched = Callable[[str, Iterable[Any], int], Iterable[Any]]
"""Wraps the items of the work named, whose number is known (a progress bar)."""


@dataclass
class Report:
    """What was looked at, and each fault with what it is about."""

    events: int = 0
    tree_size: int = 0
    heads: int = 0
    published_heads: int = 0
    removed_by_retention: int = 0
    not_in_the_tree_yet: int = 0
    clock_set_back: int = 0
    faults: list[dict[str, str]] = field(default_factory=list)

    def note(self, kind: str, about: str) -> None:
        self.faults.append({"kind": kind, "about": about})
