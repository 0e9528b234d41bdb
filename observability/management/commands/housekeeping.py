"""`manage.py housekeeping`: jobs and the metrics port; `serve` starts it by itself."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.core.jobs import registered_jobs
from observability.serving.housekeeping import Housekeeping, run_job


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

    def handle(self, *args: Any, **options: Any) -> None:
        """Run. Raises CommandError when a job of --once failed."""
        if not options["once"]:
            Housekeeping(settings.SVC).run(options["metrics_fd"])
            return
        failed = [job.name for job in registered_jobs() if not run_job(job)]
        if failed:
            raise CommandError(f"failed: {', '.join(failed)}; see the log")
