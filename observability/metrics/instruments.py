"""Instruments to count and measure with, by dotted name.

`counter("management.http.request.counter").labels(...).inc()`: unknown names and kinds
raise KeyError or TypeError at once. Values live in this process, or, under
`PROMETHEUS_MULTIPROC_DIR`, in files that `observability.metrics.metricfiles` adds up.
"""

from typing import Any, Final

import prometheus_client
from prometheus_client import metrics_core

from observability.metrics.catalogue import CATALOGUE, Instrument, Kind

REGISTRY: Final = prometheus_client.CollectorRegistry()
"""Our instruments alone, apart from the library's global registry."""

# Or each counter had a second series, which the seed's list does not name.
prometheus_client.disable_created_metrics()


def _make(instrument: Instrument) -> Any:
    common: dict[str, Any] = {
        "name": instrument.library_name,
        "documentation": instrument.help,
        "labelnames": instrument.labels,
        "registry": REGISTRY,
    }
    if instrument.kind is Kind.COUNTER:
        return prometheus_client.Counter(**common)
    if instrument.kind is Kind.HISTOGRAM:
        return prometheus_client.Histogram(**common, buckets=instrument.bounds)
    return prometheus_client.Gauge(**common, multiprocess_mode="livesum")


_INSTRUMENTS: Final[dict[str, Any]] = {
    name: _make(instrument) for name, instrument in CATALOGUE.items()
}


def _get(name: str, kind: Kind) -> Any:
    if CATALOGUE[name].kind is not kind:
        raise TypeError(f"{name} is a {CATALOGUE[name].kind}, not a {kind}")
    return _INSTRUMENTS[name]


def counter(name: str) -> prometheus_client.Counter:
    found: prometheus_client.Counter = _get(name, Kind.COUNTER)
    return found


def histogram(name: str) -> prometheus_client.Histogram:
    """Return the histogram called `name`; observe values in its unit."""
    found: prometheus_client.Histogram = _get(name, Kind.HISTOGRAM)
    return found


def gauge(name: str) -> prometheus_client.Gauge:
    """Return the gauge called `name`; live processes are added up."""
    found: prometheus_client.Gauge = _get(name, Kind.GAUGE)
    return found


def of_this_process() -> list[metrics_core.Metric]:
    """Return the families of this process: ours, then what libraries registered."""
    return [*REGISTRY.collect(), *prometheus_client.REGISTRY.collect()]
