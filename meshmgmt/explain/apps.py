"""Django application of explanations."""

from django.apps import AppConfig


class ExplainConfig(AppConfig):
    """Commands, templates' tags, and what bundles and the first page show."""

    name = "meshmgmt.explain"
    label = "explain"

    def ready(self) -> None:
        from meshmgmt.explain import bundles, homecards  # noqa: PLC0415

        bundles.register()
        homecards.contribute()
