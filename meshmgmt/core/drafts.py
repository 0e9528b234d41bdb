"""Drafts, what a client asks for, and the columns that keep it as it was sent. Pure.

A draft declares the fields of its object; services and selectors take the lists of columns
from there.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any


def columns(draft: type[Any], *, but: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the fields of a draft, without lists of links and what is kept otherwise."""
    return tuple(field.name for field in fields(draft) if field.name not in but)


def values(stored: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return what the columns of a stored object hold."""
    return {name: getattr(stored, name) for name in names}


def fill(stored: Any, draft: Any, names: Sequence[str]) -> None:
    """Set the columns of an object to what the draft says."""
    for name in names:
        setattr(stored, name, getattr(draft, name))
