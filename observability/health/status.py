"""What `manage.py status` says: the server, its checks and its figures."""

import shutil
import time
from collections.abc import Iterator
from typing import Any

from django.conf import settings

import meshmgmt
from meshmgmt.core import durations, runtime
from meshmgmt.core.errors import first_line
from meshmgmt.core.printable import printable
from observability import registries
from observability.database import statistics
from observability.health import readiness
from observability.health.relay import relay_health
from observability.logs import loglevels, redaction
from observability.metrics import metricfiles, processes

Document = dict[str, Any]


def collect(*, detail: bool) -> Document:
    """Return the status; with `detail` processes, database and registered facts too."""
    config = settings.SVC
    info = runtime.running(config.runtime_dir)
    findings = readiness.findings()
    document: Document = {
        "version": meshmgmt.__version__,
        "server": _server(info),
        "ready": readiness.is_ready(findings),
        "checks": {f.name: f.problem or "ok" for f in findings},
        "log_level": loglevels.held(config),
        "relay": _relay(config),
        "counts": _safely(_counts),
    }
    if detail:
        document["processes"] = _processes(info)
        document["database"] = _safely(statistics.overview)
        document["disk_free_bytes"] = _safely(
            lambda: shutil.disk_usage(config.data_dir).free
        )
    return document


def _server(info: runtime.ServerInfo | None) -> Document:
    if info is None:
        return {"running": False}
    beat = runtime.read_json(settings.SVC.runtime_dir / runtime.HOUSEKEEPING) or {}
    return {
        "running": True,
        "pid": info.pid,
        "uptime_seconds": round(time.time() - info.started),
        "bind": info.bind,
        "metrics": beat.get("metrics") or "on the API port",
        "workers": info.workers,
        "threads": info.threads,
        "version": info.version,
    }


def _relay(config: Any) -> Document:
    if not config.relay_listeners:
        return {"status": "not configured"}
    health = relay_health(config.relay_listeners, config.runtime_dir)
    return {
        **health.body(),
        "problems": {p.url: p.problem for p in health.probes if p.problem},
    }


def _counts() -> Document:
    counts: Document = {}
    for entry in registries.INVENTORY.values():
        for values, number in entry.measure().items():
            words = (entry.name.removeprefix("mesh_"), *values)
            counts[" ".join(words).replace("_", " ")] = number
    return counts


def _processes(info: runtime.ServerInfo | None) -> list[Document]:
    if info is None:
        return []
    others = metricfiles.live_pids(settings.SVC.runtime_dir / runtime.METRICS)
    return [
        {
            "pid": process.pid,
            "cpu_seconds": round(process.cpu, 1),
            "resident_mib": round(process.resident_bytes / 2**20, 1),
            "open_files": process.open_files,
        }
        for process in processes.live({info.pid, *others})
    ]


def _safely(read: Any) -> Any:
    try:
        return read()
    # Status is asked when something is wrong: each part says so for itself.
    except Exception as error:
        reason = f"{type(error).__name__}: {first_line(error)}"
        return {"unavailable": redaction.text(reason)}


def render(document: Document) -> str:
    return "".join(f"{printable(line)}\n" for line in _lines(document, 0))


def _lines(document: Any, depth: int) -> Iterator[str]:
    pad = "  " * depth
    for key, value in document.items():
        title = str(key).replace("_", " ")
        if key == "uptime_seconds":
            yield f"{pad}uptime: {durations.write(value)}"
        elif isinstance(value, dict):
            yield f"{pad}{title}:" if value else f"{pad}{title}: none"
            yield from _lines(value, depth + 1)
        elif isinstance(value, list):
            yield f"{pad}{title}:" if value else f"{pad}{title}: none"
            for entry in value:
                yield f"{pad}  - {_inline(entry)}"
        else:
            yield f"{pad}{title}: {_plain(value)}"


def _inline(entry: Any) -> str:
    if isinstance(entry, dict):
        return ", ".join(
            f"{key.replace('_', ' ')} {_plain(value)}" for key, value in entry.items()
        )
    return _plain(entry)


def _plain(value: Any) -> str:
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
