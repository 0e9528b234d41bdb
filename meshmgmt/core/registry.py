"""What rooms tell each other when they are ready: the one kind of registry.

A room asks without knowing who answers; those above it add in their `room.py`.
"""

from typing import Generic, TypeVar

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class Registry(dict[Key, Entry], Generic[Key, Entry]):
    """Entries in the order in which they came, each under a key of its own."""

    def add(self, key: Key, entry: Entry) -> None:
        """Add an entry. Raises ValueError when the key is taken."""
        if key in self:
            raise ValueError(f"{key} is registered already")
        self[key] = entry

    @property
    def only(self) -> Entry:
        """What one room alone can tell. Raises ValueError while none or several do."""
        [entry] = self.values()
        return entry
