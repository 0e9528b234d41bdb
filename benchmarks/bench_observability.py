"""Requests with metrics and logs against the same server without; scrapes; quiet calls."""

import logging
from itertools import repeat

from benchmarks.load import alternating_rates, request
from benchmarks.report import Report, alternating_medians
from benchmarks.workspace import Workspace

SHARE = 0.9
GUARD = 0.65
CALLS = 20_000


def run(workspace: Workspace, report: Report) -> None:
    """Report the cost of being observed."""
    token = workspace.token()
    other = workspace.other_server
    with (
        other("loud", "benchmarks.settings", SVC_LOG_LEVEL="info") as loud,
        other("silent", "benchmarks.silent_settings", SVC_LOG_LEVEL="panic") as silent,
    ):
        for name, method, path in (
            ("list of groups", "GET", "/api/groups"),
            ("empty view", "POST", "/api/bench/empty"),
        ):
            message = request(method, path, token, b"{}" if method == "POST" else b"")
            measured, reference = alternating_rates(
                (loud.port, message), (silent.port, message), seconds=0.5
            )
            title = f"requests with metrics and logs on: {name}"
            report.at_least(title, measured, reference, SHARE, guard=GUARD)
    _quiet_calls(report)


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
