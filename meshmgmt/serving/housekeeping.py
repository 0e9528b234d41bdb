"""The housekeeping process: due jobs, the metrics port, a heartbeat."""

import logging
import os
import signal
import threading
import time
from dataclasses import dataclass
from typing import Final

from django.db import close_old_connections

from meshmgmt.core import context, runtime
from meshmgmt.core.errors import missing_tables
from meshmgmt.core.jobs import Job, registered_jobs
from meshmgmt.env import Config
from meshmgmt.serving import metricsport
from meshmgmt.serving.leadership import Leadership
from observability.metrics import instruments, metricfiles
from observability.metrics.history import EVERY_SECONDS, Recorder
from observability.metrics.scrape import Scraper

_LOG: Final = logging.getLogger(__name__)
HEARTBEAT_SECONDS: Final = 2.0
_TICK: Final = 0.5
_RUNS: Final = instruments.counter("mesh.job.runs.total")
_DURATION: Final = instruments.histogram("mesh.job.duration.ms")


@dataclass(slots=True)
class Planned:
    """A job and when it is due, on the monotonic clock."""

    job: Job
    due: float
    failed: bool = False


def run_job(job: Job) -> bool:
    """Run one job; a failure is logged and counted, and waits until it is due again."""
    begun = time.perf_counter()
    # Django does this around requests; a job would keep a broken connection for good.
    close_old_connections()
    try:
        with context.scope(unattended=True):
            job.run()
    except Exception as error:
        if missing := missing_tables(error):
            _LOG.warning("job %s failed: %s", job.name, missing)
        else:
            _LOG.exception("job %s failed", job.name)
        result = "failed"
    else:
        result = "ok"
    finally:
        close_old_connections()
    _RUNS.labels(job.name, result).inc()
    _DURATION.labels(job.name).observe((time.perf_counter() - begun) * 1000)
    return result == "ok"


def run_all() -> list[str]:
    """Run all jobs once; return the names of those that failed."""
    return [job.name for job in registered_jobs() if not run_job(job)]


class Housekeeping:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.leadership = Leadership(config.runtime_dir)
        self.stopping = threading.Event()
        now = time.monotonic()
        self.plan = [Planned(job, now) for job in registered_jobs()]
        self.leads = False
        self.metrics = ""
        self._beat = 0.0
        self.scraper = Scraper(config)
        self.history = Recorder(config.runtime_dir)
        self._next_point = 0.0

    def run(self) -> None:
        """Do the work; blocks. Raises PortTaken."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, lambda *_: self.stopping.set())
        self.metrics = metricsport.serve(self.config, self.scraper.text)
        _LOG.info("housekeeping started")
        while not self.stopping.is_set():
            self.run_due()
            self.stopping.wait(_TICK)
        self.leadership.release()
        (self.config.runtime_dir / runtime.HOUSEKEEPING).unlink(missing_ok=True)

    def run_due(self) -> None:
        """Run what is due, if this process leads, and leave a sign of life."""
        due = [p for p in self.plan if p.due <= time.monotonic()]
        # On PostgreSQL this asks the database: every two seconds, not at each tick, at
        # which there is always something due for who does not lead.
        if (due and self.leads) or time.monotonic() >= self._beat:
            self.leads = self.leadership.held()
        for planned in due if self.leads else ():
            # Before each job: one that takes long must not make all look dead.
            self.beat()
            planned.failed = not run_job(planned.job)
            planned.due = time.monotonic() + planned.job.every_seconds
            if self.stopping.is_set():
                break
        if time.monotonic() >= self._beat:
            self.beat()
        if time.monotonic() >= self._next_point:
            self._next_point = time.monotonic() + EVERY_SECONDS
            self._record()

    def _record(self) -> None:
        try:
            metricfiles.fold_dead(self.config.runtime_dir / runtime.METRICS)
            self.history.add(self.scraper.families(), time.time())
        except OSError as error:
            _LOG.warning("figures cannot be written: %s", error)

    def beat(self) -> None:
        """Write who we are and when; a full disk must not end the process."""
        self._beat = time.monotonic() + HEARTBEAT_SECONDS
        document = {
            "pid": os.getpid(),
            "time": time.time(),
            "leads": self.leads,
            "metrics": self.metrics,
            "failed_jobs": [p.job.name for p in self.plan if p.failed],
        }
        try:
            runtime.write_json(self.config.runtime_dir / runtime.HOUSEKEEPING, document)
        except OSError as error:
            _LOG.warning("the heartbeat cannot be written: %s", error)
