"""Django application of the HTTP API's common parts."""

import logging
from typing import Final

from django.apps import AppConfig

HOUR: Final = 3600.0


class ApiConfig(AppConfig):
    """Errors, strict parsing, permissions, schema, retries and limits."""

    name = "meshmgmt.api"
    label = "api"
    verbose_name = "API"

    def ready(self) -> None:
        """Let what is kept for a while be forgotten, and failures that pass be a line."""
        from meshmgmt.api import exceptions, limits, retries  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415

        logging.getLogger("django.request").addFilter(exceptions.in_a_line)
        register_job("kept_answers", HOUR, retries.forget_old_answers)
        register_job("used_permits", HOUR, limits.forget_used_permits)
