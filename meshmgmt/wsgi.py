"""WSGI entry point: `gunicorn meshmgmt.wsgi:application`."""

import os
from functools import lru_cache
from pathlib import Path

import django
from django.core.handlers.wsgi import WSGIHandler
from django.http import HttpRequest
from django.urls import ResolverMatch, get_resolver

from meshmgmt.core.collector import loading
from meshmgmt.serving.staticfiles import collect
from observability.metrics import metricfiles


class Handler(WSGIHandler):
    """Django's, which remembers the views of paths that were asked for lately."""

    def resolve_request(self, request: HttpRequest) -> ResolverMatch:
        """Return the view and what the path gives it. Raises Resolver404."""
        request.resolver_match = _resolve(request.path_info)
        return request.resolver_match


@lru_cache(maxsize=1024)
def _resolve(path: str) -> ResolverMatch:
    return get_resolver().resolve(path)


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "meshmgmt.settings")
if counted_in := os.environ.get(metricfiles.VARIABLE):  # as gunicornconf.py says
    metricfiles.share(Path(counted_in))
with loading():
    django.setup(set_prefix=False)
    collect()  # before the application looks which files there are
    application = Handler()
    # Views are loaded now, not by the first request.
    _ = get_resolver().url_patterns
