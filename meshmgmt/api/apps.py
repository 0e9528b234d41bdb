"""Django application of the HTTP API's common parts."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """Errors, strict parsing, permissions and schema; no models."""

    name = "meshmgmt.api"
    label = "api"
