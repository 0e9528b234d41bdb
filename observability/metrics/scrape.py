"""What `/metrics` answers: all workers added up, and gauges computed now."""

import logging
import math
import os
import platform
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from django.db import DatabaseError, InterfaceError, close_old_connections

import meshmgmt
from meshmgmt.core import runtime
from meshmgmt.env import Config
from observability.database import statistics
from observability.metrics import exposition, instruments, metricfiles, processes
from observability.metrics.exposition import Family, Sample, single
from observability.registries import INVENTORY, Inventory

_LOG: Final = logging.getLogger(__name__)
FRESH_SECONDS: Final = 5.0
PATIENCE_SECONDS: Final = 0.5
LATE_SECONDS: Final = 30.0


class Scraper:
    """Makes the answer of `/metrics` for the server this process belongs to."""

    def __init__(self, config: Config, directory: Path | None = None) -> None:
        """Read the metric files of `directory`, by default this process's own."""
        self.config = config
        shared = os.environ.get(metricfiles.VARIABLE)
        self.directory = directory or (Path(shared) if shared else None)
        self.sampler = Sampler()

    def text(self) -> bytes:
        """Return text format 0.0.4 under the configured dialect's names."""
        families = self.families()
        if self.config.metrics_dialect == "otel":
            families = exposition.to_otel(families)
        return exposition.render(families)

    def families(self) -> list[Family]:
        """Return all families under the seed's names."""
        return exposition.complete(
            [_build(), *self._values(), *self.sampler.families()]
        )

    def _values(self) -> list[Family]:
        if self.directory is None or not self.directory.is_dir():
            own = exposition.from_library(instruments.of_this_process())
            # The library's are as of its start; ours are counted now.
            return [f for f in own if not f.name.startswith("django_migrations_")]
        shared = exposition.from_library(metricfiles.collect(self.directory))
        info = runtime.running(self.config.runtime_dir)
        if info is None:
            return shared
        pids = metricfiles.live_pids(self.directory)
        return [*shared, *processes.families(info.pid, info.started, pids)]


def _build() -> Family:
    labels = (("python", platform.python_version()), ("version", meshmgmt.__version__))
    return single("mesh_build_info", "gauge", "Version; always 1.", 1.0, labels)


def measure() -> list[Family]:
    """Return all database gauges now.

    When one cannot be had, none is given but the missing migrations, and
    `mesh_inventory_up` is 0: a stale number looks like a good one.
    """
    found: list[Family] = []
    try:
        found.append(_migrations())
        found += [_family(entry) for entry in INVENTORY.values()]
    except (DatabaseError, InterfaceError) as error:
        _LOG.warning("inventory gauges are missing: %s", error)
    except Exception:
        _LOG.exception("inventory gauges are missing")
    else:
        return [_up(1), *found]
    # Missing migrations may well be the reason, so their number stays.
    return [_up(0), *found[:1]]


def _up(value: float) -> Family:
    text = "1 when the gauges of the database could be computed, else 0."
    return single("mesh_inventory_up", "gauge", text, value)


def _family(entry: Inventory) -> Family:
    rows = entry.measure()
    samples = [
        Sample(entry.name, tuple(sorted(zip(entry.labels, values, strict=True))), value)
        for values, value in rows.items()
    ]
    return Family(entry.name, "gauge", entry.help, samples)


def _migrations() -> Family:
    return single(
        "django_migrations_unapplied_total",
        "gauge",
        "Migrations the database has not had yet.",
        len(statistics.missing_migrations()),
        (("connection", "default"),),
    )


class Sampler:
    """Measures in a thread of its own, so that a scrape never hangs with the database.

    A measurement is used for 5 seconds, and while the next one takes longer than half a
    second for 30; then the database counts as down.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inventory")
        self._pending: Future[tuple[float, list[Family]]] | None = None
        self._measured, self._families = -math.inf, [_up(0)]
        self._asked = -math.inf
        self._lock = threading.Lock()

    def families(self) -> list[Family]:
        """Return recent gauges; only `mesh_inventory_up 0` when there are none."""
        with self._lock:
            # What no scrape waited for may have ended meanwhile, or long ago.
            self._take()
            if self._is_older_than(FRESH_SECONDS):
                if self._pending is None:
                    self._pending = self._pool.submit(_measured)
                    self._asked = time.monotonic()
                self._take()
            return [_up(0)] if self._is_older_than(LATE_SECONDS) else self._families

    def _take(self) -> None:
        """Take what is being measured, if it ends in time; else the next scrape may."""
        if self._pending is not None:
            left = self._asked + PATIENCE_SECONDS - time.monotonic()
            with suppress(TimeoutError):
                self._measured, self._families = self._pending.result(max(0.0, left))
                self._pending = None

    def _is_older_than(self, seconds: float) -> bool:
        return time.monotonic() - self._measured > seconds


def _measured() -> tuple[float, list[Family]]:
    """Return when was measured, and what."""
    close_old_connections()
    try:
        found = measure()
        return time.monotonic(), found
    finally:
        close_old_connections()
