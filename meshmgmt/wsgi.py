"""WSGI entry point: `gunicorn meshmgmt.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "meshmgmt.settings")
application = get_wsgi_application()
