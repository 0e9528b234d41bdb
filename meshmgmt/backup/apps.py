"""Django application of backup and restore."""

from django.apps import AppConfig


class BackupConfig(AppConfig):
    """Carries all tables from one database to another; above all rooms."""

    name = "meshmgmt.backup"
    label = "backup"
