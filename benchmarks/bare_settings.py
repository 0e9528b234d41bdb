"""Settings of a Django that does nothing but what `benchmarks.bare` asks for."""

from benchmarks.settings import *  # noqa: F403 - the same database and server

MIDDLEWARE = []
ROOT_URLCONF = "benchmarks.bare"
# The admin site misses its middleware; nobody calls it here.
SILENCED_SYSTEM_CHECKS = ["admin.E408", "admin.E409", "admin.E410"]
