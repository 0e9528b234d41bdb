"""What a database needs before it can be used: the row of settings."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from dns.models import DnsSettings
from dns.models.settings import SINGLE_ROW


def make_settings(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the one row of settings, so that the admin site has something to show."""
    tables = connections[using].introspection.table_names()
    if using == DEFAULT_DB_ALIAS and DnsSettings._meta.db_table in tables:
        DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
