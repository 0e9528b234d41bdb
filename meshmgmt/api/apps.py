"""Django application of the HTTP API's common parts."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "meshmgmt.api"
    verbose_name = "API"
