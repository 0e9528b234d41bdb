"""The service with one room more, in a test database of its own."""

import os

from meshmgmt import settings
from meshmgmt.settings import *  # noqa: F403 - Django reads names

_ROOMS = list(settings.INSTALLED_APPS)
# Ready before the room that lists all kinds reads what there is.
_ROOMS.insert(_ROOMS.index("meshmgmt.history"), "tests.throwaway")
INSTALLED_APPS = _ROOMS
ROOT_URLCONF = "tests.throwaway.urls"
DATABASES["default"]["TEST"] = {"NAME": f"throwaway_{os.getpid()}"}  # noqa: F405 - as above
