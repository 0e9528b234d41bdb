"""The service's settings with one more path: a view that does nothing."""

from meshmgmt.settings import *  # noqa: F403 - the same settings is the point

ROOT_URLCONF = "benchmarks.urls"
