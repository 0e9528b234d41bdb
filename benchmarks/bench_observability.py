"""Requests with metrics and logs against the same server without; scrapes; quiet calls."""

import logging
import statistics
from itertools import repeat

from benchmarks.load import rate, request
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace
from tests.servers import Server

SHARE = 0.9
ROUNDS = 7
SECONDS = 1.5
CALLS = 20_000


def run(workspace: Workspace, report: Report) -> None:
    """Report the cost of being observed."""
    token = workspace.token()
    with_all = _server(workspace, "loud", "benchmarks.settings", "info")
    without = _server(workspace, "silent", "benchmarks.silent_settings", "panic")
    try:
        for name, method, path in (
            ("list of groups", "GET", "/api/groups"),
            ("empty view", "POST", "/api/bench/empty"),
        ):
            message = request(method, path, token, b"{}" if method == "POST" else b"")
            measured, reference = _paired(with_all.port, without.port, message)
            title = f"requests with metrics and logs on: {name}"
            report.at_least(title, measured, reference, SHARE)
    finally:
        with_all.stop()
        without.stop()
    _quiet_calls(report)


def _server(workspace: Workspace, name: str, settings: str, level: str) -> Server:
    """Start a server of one worker over the workspace's database."""
    shared = workspace.environment
    server = Server(
        workspace.folder / name,
        shared.get("SVC_DATABASE_URL", ""),
        {
            "DJANGO_SETTINGS_MODULE": settings,
            "SVC_DATABASE_URL": shared.get("SVC_DATABASE_URL")
            or f"sqlite:///{workspace.folder / 'db.sqlite3'}",
            "SVC_WORKERS": "1",
            "SVC_LOG_LEVEL": level,
            "SVC_LOG_FILE": str(workspace.folder / name / "log.json"),
        },
    )
    server.start()
    return server


def _paired(first: int, second: int, message: bytes) -> tuple[float, float]:
    """Return the median rates of two servers that take turns."""
    rates: tuple[list[float], list[float]] = ([], [])
    for port in (first, second):
        rate(port, lambda _: message, connections=4, seconds=1)
    for _ in range(ROUNDS):
        for port, kept in zip((first, second), rates, strict=True):
            found = rate(port, lambda _: message, connections=4, seconds=SECONDS)
            kept.append(found)
    return statistics.median(rates[0]), statistics.median(rates[1])


def _quiet_calls(report: Report) -> None:
    """A call below the level costs a small part of formatting what it says."""
    logger = logging.getLogger("benchmarks.quiet")
    logger.setLevel(logging.INFO)
    large = {"fact": list(range(100))}

    def quiet() -> None:
        for _ in repeat(None, CALLS):
            logger.debug("a value %s", large)

    def formatted() -> None:
        for _ in repeat(None, CALLS):
            "a value %s" % large  # noqa: UP031 - what logging would do

    measured, reference = alternating_medians(quiet, formatted)
    report.at_most("log calls below the level", measured, reference, 0.1)
