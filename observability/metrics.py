"""Instruments to count and measure with, by dotted name.

`counter("management.http.request.counter").labels(...).inc()`: unknown names and kinds
raise KeyError or TypeError at once. Values live in this process, or, under
`PROMETHEUS_MULTIPROC_DIR`, in files that `observability.metricfiles` adds up.
"""

import os
from collections.abc import Iterable
from typing import Any, Final

import prometheus_client
from prometheus_client import metrics_core, samples, values

from observability import metricstore
from observability.catalogue import CATALOGUE, Instrument, Kind


class ExactCounter(prometheus_client.Counter):
    """A counter whose name is printed as given.

    prometheus_client strips and appends `_total`, which merges
    `management_http_request_counter` and `management_http_request_counter_total` into
    one family. Its internal type is therefore `unknown`: two private methods are
    overridden, and the requirement pins the library exactly.
    """

    _type = "unknown"

    def _metric_init(self) -> None:
        self._value = values.ValueClass(
            self._type,
            self._name,
            self._name,
            self._labelnames,
            self._labelvalues,
            self._documentation,
        )

    def _child_samples(self) -> Iterable[samples.Sample]:
        return (samples.Sample("", {}, self._value.get(), None, None),)


metricstore.install()
REGISTRY: Final = prometheus_client.CollectorRegistry()
"""Our instruments alone, apart from the library's global registry."""


def _make(instrument: Instrument) -> Any:
    common: dict[str, Any] = {
        "name": instrument.exposed,
        "documentation": instrument.help,
        "labelnames": instrument.labels,
        "registry": REGISTRY,
    }
    if instrument.kind is Kind.COUNTER:
        return ExactCounter(**common)
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
    """Return the counter called `name`."""
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


def families_of_this_process() -> list[metrics_core.Metric]:
    """Return the families of this process: ours, then what libraries registered."""
    return [*REGISTRY.collect(), *prometheus_client.REGISTRY.collect()]


def is_multiprocess() -> bool:
    """Tell whether the values of this process live in shared files."""
    return bool(os.environ.get("PROMETHEUS_MULTIPROC_DIR"))
