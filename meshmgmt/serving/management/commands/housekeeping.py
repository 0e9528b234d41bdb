"""`manage.py housekeeping`: jobs and the metrics port."""

from argparse import ArgumentParser
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from meshmgmt.serving import process


class Command(BaseCommand):
    """Runs the housekeeping process, or all jobs once."""

    help = "Run housekeeping jobs and serve /metrics; --once suits cron."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--once", action="store_true", help="run all jobs and end")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run. Raises CommandError for a taken port, or when a job of --once failed."""
        if not apps.ready:
            process.begin(settings.SVC)
        process.bound_statements(process.JOB_STATEMENT_SECONDS)
        from meshmgmt.serving import housekeeping, metricsport  # noqa: PLC0415 - apps

        if options["once"]:
            process.require_tables()
            failed = housekeeping.run_all()
            if failed:
                raise CommandError(f"failed: {', '.join(failed)}; see the log")
            return
        try:
            housekeeping.Housekeeping(settings.SVC).run()
        except metricsport.PortTaken as error:
            raise CommandError(str(error), returncode=2) from error
