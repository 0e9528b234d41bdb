"""Django application of plans."""

from django.apps import AppConfig


class PlansConfig(AppConfig):
    """Tells what writes would do."""

    name = "meshmgmt.plans"
    label = "plans"

    def ready(self) -> None:
        """Draw the plans of the API."""
        from meshmgmt.api import plans  # noqa: PLC0415
        from meshmgmt.plans.drafts import draft_of  # noqa: PLC0415

        plans.register(draft_of)
