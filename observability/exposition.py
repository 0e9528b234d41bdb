"""Prometheus text format 0.0.4, with the seed's exact metric names.

The library's own writer appends `_total` to counters and switches to OpenMetrics when
Prometheus asks for it, where a counter without that suffix cannot be written. So the
format is written here, whatever `Accept` says.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from observability.catalogue import CATALOGUE, Instrument

if TYPE_CHECKING:
    # gunicorn's master reads this module and must not load the library: it decides at
    # its first import whether values are shared between processes.
    from prometheus_client.metrics_core import Metric

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


_BY_EXPOSED_NAME: Final = {i.exposed: i for i in CATALOGUE.values()}


def from_library(metrics: "Iterable[Metric]") -> list[Family]:
    """Return the families of prometheus_client collectors, `_created` left out."""
    families = []
    for metric in metrics:
        family = named_family(metric.name, metric.type, metric.documentation)
        family.samples = [
            Sample(s.name, tuple(sorted(s.labels.items())), s.value)
            for s in metric.samples
            if not s.name.endswith("_created")
        ]
        families.append(family)
    return families


def named_family(name: str, library_kind: str, text: str) -> Family:
    """Return an empty family under the name and kind that the format wants.

    `name` and `library_kind` are prometheus_client's: counters without `_total`, our
    own counters as `unknown`.
    """
    if name in _BY_EXPOSED_NAME:
        return Family(name, str(_BY_EXPOSED_NAME[name].kind), text)
    if library_kind == "counter":
        return Family(f"{name}_total", "counter", text)
    if library_kind == "info":
        return Family(f"{name}_info", "gauge", text)
    if library_kind in {"gauge", "histogram", "summary"}:
        return Family(name, library_kind, text)
    return Family(name, "untyped", text)


def complete(families: Iterable[Family]) -> list[Family]:
    """Return the catalogue's families in its order, empty ones too, then the rest.

    Families of the same name become one; the last help text counts.
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
    """Return the families as text format 0.0.4."""
    lines: list[str] = []
    for family in families:
        text = family.help.replace("\\", r"\\").replace("\n", r"\n")
        lines.append(f"# HELP {family.name} {text}\n")
        lines.append(f"# TYPE {family.name} {family.kind}\n")
        lines.extend(map(_line, family.samples))
    return "".join(lines).encode()


def _line(sample: Sample) -> str:
    if not sample.labels:
        return f"{sample.name} {number(sample.value)}\n"
    labels = ",".join(f'{name}="{_escape(value)}"' for name, value in sample.labels)
    return f"{sample.name}{{{labels}}} {number(sample.value)}\n"


def _escape(value: str) -> str:
    if "\\" in value or '"' in value or "\n" in value:
        return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return value


def number(value: float) -> str:
    """Return a value or bucket bound as the format writes it; whole numbers plain."""
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    if math.isnan(value):
        return "NaN"
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - exact as a double
        return str(int(value))
    return repr(float(value))


def instrument_of(exposed: str) -> Instrument | None:
    """Return the catalogue's instrument with that exposed name."""
    return _BY_EXPOSED_NAME.get(exposed)
