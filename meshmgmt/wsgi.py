"""WSGI entry point: `gunicorn meshmgmt.wsgi:application`."""

import gc
import os

import django
from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

from meshmgmt.serving.staticfiles import collect

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "meshmgmt.settings")
django.setup(set_prefix=False)
collect()  # before the application looks which files there are
application = get_wsgi_application()

# Views are loaded now, not by the first request. What is loaded stays: the collector, which
# would go through it again and again while a large answer is made, leaves it alone.
_ = get_resolver().url_patterns
gc.freeze()
