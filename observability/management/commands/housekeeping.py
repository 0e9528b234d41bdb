"""`manage.py housekeeping`: jobs and the metrics port; `serve` starts it by itself."""

from argparse import ArgumentParser
from typing import Any

import django
from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.core.jobs import registered_jobs
from observability.serving import lifeline


class Command(BaseCommand):
    """Runs the housekeeping process, or all jobs once."""

    help = "Run housekeeping jobs. The server does so by itself; --once suits cron."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the flags."""
        parser.add_argument("--once", action="store_true", help="run all jobs and end")
        parser.add_argument(
            "--metrics-fd", type=int, help="a listening socket to serve"
        )
        parser.add_argument(
            "--lifeline-fd", type=int, help="a pipe; end when its writing end closes"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run. Raises CommandError when a job of --once failed."""
        watch = None
        if options["lifeline_fd"] is not None:
            watch = lifeline.Watch(
                options["lifeline_fd"], lifeline.HOUSEKEEPING_SECONDS
            )
            watch.start()  # before the apps are loaded, which takes a second
        if not apps.ready:
            django.setup()
        if not options["once"]:
            _run(options["metrics_fd"], watch)
        else:
            _run_once()


def _run(metrics_fd: int | None, watch: lifeline.Watch | None) -> None:
    from observability.serving.housekeeping import Housekeeping  # noqa: PLC0415 - apps

    process = Housekeeping(settings.SVC)
    if watch is not None:
        watch.leave = process.stopping.set
    process.run(metrics_fd)


def _run_once() -> None:
    from observability.serving.housekeeping import run_job  # noqa: PLC0415 - apps

    failed = [job.name for job in registered_jobs() if not run_job(job)]
    if failed:
        raise CommandError(f"failed: {', '.join(failed)}; see the log")
