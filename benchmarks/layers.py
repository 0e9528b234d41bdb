"""WSGI applications of which each does a little more than the one before.

`X-Layer: n` says which of them answers, so that all are asked of one gunicorn in turn.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from django.conf import settings
from django.core.handlers.wsgi import WSGIHandler
from django.test.utils import override_settings

from meshmgmt.wsgi import application as service

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

FIRST: Final = "/bench/first"
LAST: Final = "/bench/last"
PUBLIC: Final = "/api/bench/public"
EMPTY: Final = "/api/bench/empty"


def nothing(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Answer without Django."""
    del environ
    start_response("200 OK", [("Content-Length", "2")])
    return [b"{}"]


def _with(*prefixes: str) -> Application:
    """Return Django with the middleware of these packages alone."""
    names = [name for name in settings.MIDDLEWARE if name.startswith(prefixes)]
    with override_settings(MIDDLEWARE=names):
        return WSGIHandler()


LAYERS: Final[tuple[tuple[str, str, Application], ...]] = (
    ("gunicorn and an empty callable", FIRST, nothing),
    ("Django, the first path of all", FIRST, _with("-")),
    ("the last path of all", LAST, _with("-")),
    ("Django's middleware", LAST, _with("django.", "whitenoise.")),
    ("our middleware", LAST, _with("django.", "whitenoise.", "meshmgmt.")),
    ("metrics and two log lines", LAST, service),
    ("an empty view of DRF for everybody", PUBLIC, service),
    ("who asks, may they, how often", EMPTY, service),
    ("an answer that was kept", "/api/dns/settings", service),
)
"""What is added, which path is asked for, and who answers."""


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """Let the layer answer that the request names."""
    _, _, layer = LAYERS[int(environ["HTTP_X_LAYER"])]
    return layer(environ, start_response)
