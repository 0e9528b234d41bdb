"""Gauges computed from the database when somebody scrapes: inventory and migrations."""

import logging
import math
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from django.db import DatabaseError, InterfaceError, close_old_connections

from observability import schema
from observability.metrics.exposition import Family, Sample
from observability.registries import INVENTORY, Inventory

_LOG: Final = logging.getLogger(__name__)
FRESH_SECONDS: Final = 5.0
PATIENCE_SECONDS: Final = 0.5
LATE_SECONDS: Final = 30.0


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
    name = "mesh_inventory_up"
    text = "1 when the gauges of the database could be computed, else 0."
    return Family(name, "gauge", text, [Sample(name, (), value)])


def _family(entry: Inventory) -> Family:
    rows = entry.measure()
    samples = [
        Sample(entry.name, tuple(sorted(zip(entry.labels, values, strict=True))), value)
        for values, value in rows.items()
    ]
    return Family(entry.name, "gauge", entry.help, samples)


def _migrations() -> Family:
    name = "django_migrations_unapplied_total"
    return Family(
        name,
        "gauge",
        "Migrations the database has not had yet.",
        [Sample(name, (("connection", "default"),), len(schema.unapplied()))],
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
