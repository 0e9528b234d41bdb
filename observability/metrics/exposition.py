"""Prometheus text format 0.0.4, with the seed's exact metric names.

The library's own writer appends `_total` to counters, and OpenMetrics, which Prometheus
asks for, knows no counter without it. So the format is written here, whatever `Accept`
says.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from prometheus_client import Metric
from prometheus_client.utils import floatToGoString

from observability.metrics.catalogue import CATALOGUE

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Labels = tuple[tuple[str, str], ...]


class Sample(NamedTuple):
    """One line: a name, sorted labels and a value."""

    name: str
    labels: Labels
    value: float


@dataclass(slots=True)
class Family:
    """All samples of one metric; `kind` is counter, gauge, histogram or untyped."""

    name: str
    kind: str
    help: str
    samples: list[Sample] = field(default_factory=list)


def single(
    name: str, kind: str, text: str, value: float, labels: Labels = ()
) -> Family:
    """Return a family of one sample."""
    return Family(name, kind, text, [Sample(name, labels, value)])


_BY_LIBRARY_NAME: Final = {i.library_name: i for i in CATALOGUE.values()}
_BY_EXPOSED_NAME: Final = {i.exposed: i for i in CATALOGUE.values()}


def from_library(metrics: Iterable[Metric]) -> list[Family]:
    """Return prometheus_client's families under the names they are to have."""
    return [_family(metric) for metric in metrics]


def _family(metric: Metric) -> Family:
    name, kind = metric.name, metric.type
    instrument = _BY_LIBRARY_NAME.get(name)
    if instrument is not None:
        name = instrument.exposed
    elif kind == "counter":
        name += "_total"
    elif kind == "info":
        name, kind = f"{name}_info", "gauge"
    elif kind == "unknown":
        kind = "untyped"
    exact = name if instrument and kind == "counter" else None
    samples = [
        Sample(exact or s.name, _sorted(s.labels), s.value) for s in metric.samples
    ]
    return Family(name, kind, metric.documentation, samples)


def _sorted(labels: dict[str, str]) -> Labels:
    """Return labels by name, with the bound of a bucket last."""
    return tuple(sorted(labels.items(), key=lambda pair: (pair[0] == "le", pair)))


def complete(families: Iterable[Family]) -> list[Family]:
    """Return the catalogue's families in its order, empty ones too, then the rest.

    Families of the same name become one; the first help text counts.
    """
    merged: dict[str, Family] = {
        i.exposed: Family(i.exposed, str(i.kind), i.help) for i in CATALOGUE.values()
    }
    for family in families:
        known = merged.setdefault(
            family.name, Family(family.name, family.kind, family.help)
        )
        known.samples.extend(family.samples)
    return list(merged.values())


def to_otel(families: Iterable[Family]) -> list[Family]:
    """Rename the catalogue's families as the reference's exporter prints them.

    Two instruments that get the same name become one family, as there.
    """
    merged: dict[str, Family] = {}
    for family in families:
        instrument = _BY_EXPOSED_NAME.get(family.name)
        name = instrument.exposed_by_otel if instrument else family.name
        target = merged.setdefault(name, Family(name, family.kind, family.help))
        target.samples.extend(_renamed(family, name))
    return list(merged.values())


def _renamed(family: Family, name: str) -> Iterable[Sample]:
    if name == family.name:
        return family.samples
    cut = len(family.name)
    return [s._replace(name=name + s.name[cut:]) for s in family.samples]


def render(families: Iterable[Family]) -> bytes:
    lines: list[str] = []
    for family in families:
        text = family.help.replace("\\", r"\\").replace("\n", r"\n")
        lines.append(f"# HELP {family.name} {text}\n")
        lines.append(f"# TYPE {family.name} {family.kind}\n")
        lines.extend(map(_line, family.samples))
    return "".join(lines).encode()


def _line(sample: Sample) -> str:
    if not sample.labels:
        return f"{sample.name} {floatToGoString(sample.value)}\n"
    labels = ",".join(f'{name}="{_escape(value)}"' for name, value in sample.labels)
    return f"{sample.name}{{{labels}}} {floatToGoString(sample.value)}\n"


def _escape(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value
