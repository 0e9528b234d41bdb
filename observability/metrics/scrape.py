"""What `/metrics` answers: all workers added up, and gauges computed now."""

import os
import platform
from pathlib import Path

import meshmgmt
from meshmgmt.core import runtime
from meshmgmt.env import Config
from observability.metrics import exposition, instruments, metricfiles, processes
from observability.metrics.exposition import Family, Sample
from observability.metrics.gauges import Sampler


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
            [*_build(), *self._values(), *self.sampler.families()]
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


def _build() -> list[Family]:
    name = "mesh_build_info"
    labels = (("python", platform.python_version()), ("version", meshmgmt.__version__))
    return [Family(name, "gauge", "Version; always 1.", [Sample(name, labels, 1.0)])]
