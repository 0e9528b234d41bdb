"""Whether the database is set up: some rooms write their first rows after migrations."""

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model


def tables_exist(*models: type[Model]) -> bool:
    """Tell whether the tables of all `models` are there.

    They are not while only some apps are migrated, or an app is migrated to zero.
    """
    names = connections[DEFAULT_DB_ALIAS].introspection.table_names()
    return {model._meta.db_table for model in models} <= set(names)
