"""Django application of what runs around Django; it holds commands alone."""

from django.apps import AppConfig


class ServingConfig(AppConfig):
    """Processes of the service: gunicorn, housekeeping; no models."""

    name = "meshmgmt.serving"
    label = "serving"
