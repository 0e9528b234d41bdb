"""Django application of what was."""

from django.apps import AppConfig


class HistoryConfig(AppConfig):
    """Looks back and takes back."""

    name = "meshmgmt.history"
    label = "history"

    def ready(self) -> None:
        """Answer `?at=`."""
        from meshmgmt.core import history  # noqa: PLC0415
        from meshmgmt.history.past import account_at  # noqa: PLC0415

        history.register(account_at)
