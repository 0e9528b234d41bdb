"""Django application of the configuration as one document."""

from django.apps import AppConfig


class ConfigurationConfig(AppConfig):
    """Exports, applies and compares configurations."""

    name = "meshmgmt.configuration"
    label = "configuration"
