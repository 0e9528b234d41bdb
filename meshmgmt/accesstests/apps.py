"""Django application of access tests: promises about who reaches what."""

from django.apps import AppConfig


class AccessTestsConfig(AppConfig):
    name = "meshmgmt.accesstests"
    verbose_name = "Access tests"
