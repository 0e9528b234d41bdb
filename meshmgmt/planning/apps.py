"""Django application of plans."""

from django.apps import AppConfig


class PlanningConfig(AppConfig):
    """Tells what writes would do."""

    name = "meshmgmt.planning"
    label = "planning"

    def ready(self) -> None:
        """Draw the plans of the API."""
        from meshmgmt.api import plans  # noqa: PLC0415
        from meshmgmt.core import history  # noqa: PLC0415
        from meshmgmt.planning.drafts import draft_of  # noqa: PLC0415
        from meshmgmt.planning.history import account_at  # noqa: PLC0415

        plans.register(draft_of)
        history.register(account_at)
