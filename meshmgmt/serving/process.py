"""What every process of the service does when it begins."""

import django

from meshmgmt.core import runtime
from meshmgmt.env import Config
from observability.logs import handlers, loglevels
from observability.logs.loglevels import LEVELS
from observability.metrics import metricfiles


def begin(config: Config) -> None:
    """Set Django up in a process that counts and logs with the others.

    To be called before anything imports prometheus_client, so the command of such a
    process stands in `commandline.WITHOUT_APPS`.
    """
    runtime.make(config.runtime_dir)
    metricfiles.share(config.runtime_dir / runtime.METRICS)
    django.setup()
    follow_levels(config)


def follow_levels(config: Config) -> None:
    """Follow changes of the log level, and keep recent records for bundles."""
    LEVELS.follow(config.runtime_dir)
    loglevels.watch()
    handlers.add_spool(config)
