"""Jobs that run by themselves: any room registers, the housekeeping process runs them.

Kept here so that a room can register without knowing who runs its job.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from meshmgmt.core.registry import Registry

HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Job:
    """Work to be done every `every_seconds`; `run` is safe to repeat."""

    name: str
    every_seconds: float
    run: Callable[[], object]


_jobs: Final = Registry[str, Job]()


def register_job(name: str, every_seconds: float, run: Callable[[], object]) -> None:
    """Register a job under a name of its own. Raises ValueError when it is taken."""
    _jobs.add(name, Job(name, every_seconds, run))


def registered_jobs() -> tuple[Job, ...]:
    return tuple(_jobs.values())
