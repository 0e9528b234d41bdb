"""What a database needs before it can be used: the row of settings."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS

from dns.models import DnsSettings
from dns.models.settings import SINGLE_ROW
from meshmgmt.core.queries import tables_exist


def make_settings(using: str = DEFAULT_DB_ALIAS, **kwargs: Any) -> None:
    """Make the one row of settings, so that the admin site has something to show."""
    # Sent after a migration back to nothing as well.
    if using == DEFAULT_DB_ALIAS and tables_exist(DnsSettings):
        DnsSettings.objects.get_or_create(pk=SINGLE_ROW)
