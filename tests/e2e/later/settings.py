"""The settings of a version to come: today's, with one more room that has a migration."""

from meshmgmt.settings import *  # noqa: F403 - the same settings is the point
from meshmgmt.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.e2e.later"]
