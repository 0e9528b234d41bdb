"""Django application of the HTTP API's common parts."""

from typing import Final

from django.apps import AppConfig

HOUR: Final = 3600.0


class ApiConfig(AppConfig):
    """Errors, strict parsing, permissions, schema, retries and limits."""

    name = "meshmgmt.api"
    label = "api"
    verbose_name = "API"

    def ready(self) -> None:
        """Let what is kept for a while be forgotten."""
        from meshmgmt.api import limits, retries  # noqa: PLC0415
        from meshmgmt.core.jobs import register_job  # noqa: PLC0415

        register_job("kept_answers", HOUR, retries.forget_old_answers)
        register_job("used_permits", HOUR, limits.forget_used_permits)
