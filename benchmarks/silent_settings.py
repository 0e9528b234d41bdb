"""The benchmarks' settings without metrics and request lines, to compare with."""

from benchmarks.settings import *  # noqa: F403 - the same settings is the point
from benchmarks.settings import CACHES, DATABASES, MIDDLEWARE

MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("observability.")]
DATABASES = {
    name: {
        **database,
        "ENGINE": database["ENGINE"].replace(
            "observability.database", "django.db.backends"
        ),
    }
    for name, database in DATABASES.items()
}
CACHES = {
    name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    for name in CACHES
}
