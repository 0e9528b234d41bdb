"""What the streams need done regularly, registered with the housekeeping process."""

from typing import Final

from events.streams import partitions, retention
from events.streams.catalogue import STREAMS
from meshmgmt.core import clock
from meshmgmt.core.jobs import register_job

HOUR: Final = 3600.0


def register() -> None:
    """Register the jobs, once per process."""
    register_job("events.partitions", HOUR, make_partitions)
    register_job("events.retention", HOUR, retention.prune)


def make_partitions() -> None:
    """Make the partitions that the next days will need."""
    for stream in STREAMS.values():
        partitions.ensure_ahead(stream, clock.now().date())
