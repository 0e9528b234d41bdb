"""Where a log was read to and what its lines' ids need; a file of JSON."""

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from events.tailing.lines import HEAD_BYTES, TAIL_BYTES, Fingerprint, Mark

_HIGHEST: Final = 2**63 - 1


@dataclass
class Checkpoint:
    """What the file says; `mark` is None while there is none."""

    path: Path
    mark: Mark | None = None
    seen: dict[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Checkpoint":
        """Return what the file says.

        Raises ValueError for a file that is no checkpoint, OSError when it cannot be
        read or could not be written.
        """
        checkpoint = cls(path)
        if path.exists():
            checkpoint._take(path.read_bytes())
        with checkpoint._temporary.open("wb"):
            pass
        checkpoint._temporary.unlink()
        return checkpoint

    @property
    def _temporary(self) -> Path:
        return self.path.with_name(f"{self.path.name}.new")

    def _take(self, raw: bytes) -> None:
        try:
            facts = orjson.loads(raw)
            position = _whole(facts["position"])
            self.mark = Mark(
                _whole(facts["inode"]),
                position,
                _whole(facts["number"]),
                _fingerprint(facts["head"], min(HEAD_BYTES, position)),
                _fingerprint(facts["tail"], min(TAIL_BYTES, position)),
            )
            self.seen = {str(key): _whole(n) for key, n in facts["seen"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = f"{self.path} is not a checkpoint of this command"
            raise ValueError(text) from error

    def save(self, mark: Mark, seen: dict[str, int]) -> None:
        """Note that everything up to `mark` is stored; survives a crash at any point.

        Raises OSError.
        """
        with self._temporary.open("wb") as file:
            file.write(orjson.dumps({**asdict(mark), "seen": seen}))
            file.flush()
            os.fsync(file.fileno())
        self._temporary.replace(self.path)
        self.mark = mark


def _whole(value: Any, high: int = _HIGHEST) -> int:
    if type(value) is not int or not 0 <= value <= high:
        raise ValueError("is not a whole number in its range")
    return value


def _fingerprint(value: Any, longest: int) -> Fingerprint:
    digest = value["digest"]
    if type(digest) is not str:
        raise ValueError("is not a text")
    return Fingerprint(_whole(value["length"], longest), digest)
