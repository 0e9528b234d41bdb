"""Where a followed log was read to; replaced as a whole after every batch."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from events.tailing.lines import Line, Start


@dataclass
class Checkpoint:
    """Position in the log and the ids' state, kept in a file of JSON."""

    path: Path
    start: Start = field(default_factory=Start)
    seen: dict[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> "Checkpoint":
        """Return what the file says, the beginning when there is none.

        Raises ValueError for a file that is no checkpoint.
        """
        try:
            facts = orjson.loads(path.read_bytes())
            start = Start(facts["inode"], facts["position"], facts["number"])
            return cls(path, start, dict(facts["seen"]))
        except FileNotFoundError:
            return cls(path)
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is not a checkpoint of this command") from error

    def save(self, line: Line, seen: dict[str, int]) -> None:
        """Note that everything up to `line` is stored; survives a crash at any point."""
        facts = {
            "inode": line.inode,
            "position": line.position,
            "number": line.number,
            "seen": seen,
        }
        temporary = self.path.with_name(f"{self.path.name}.new")
        with temporary.open("wb") as file:
            file.write(orjson.dumps(facts))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.path)
