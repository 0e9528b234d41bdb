"""Middleware for every request: its context, its transport rules, its actor, its page."""

import ipaddress
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest, HttpResponse
from django.http.request import split_domain_port, validate_host
from django.urls import reverse
from django.utils.cache import patch_vary_headers

from meshmgmt.api.exceptions import (
    describe,
    error_answer,
    error_response,
    not_found,
    tell,
)
from meshmgmt.api.pages import (
    CONTENT_SECURITY_POLICY,
    accepts_html,
    error_page,
    in_admin,
    revealed,
    sign_in_again,
)
from meshmgmt.api.permissions import OPERATIONS
from meshmgmt.api.requests import discard_rest
from meshmgmt.core import context
from meshmgmt.core.addresses import host_of
from meshmgmt.core.context import Actor, RequestContext, account_id, known_account_id
from meshmgmt.core.errors import NotFound, ServiceError, TooManyRequests
from meshmgmt.core.ids import new_id

GetResponse = Callable[[HttpRequest], HttpResponse]

MAX_PATH: Final = 4096
MAX_QUERY: Final = 8192
REQUEST_ID: Final = re.compile(r"(?!mp[ti]_|eyJ)[A-Za-z0-9._-]{8,64}")
"""What counts as an id of the client's: no token, which logs and events would show."""
MAX_REQUEST_ID: Final = 32
"""What is taken over of a trusted proxy; events have room for no more."""

WITHOUT_DATABASE: Final = frozenset({"/livez", "/metrics"})
"""Paths that are answered whatever becomes of the database, so nothing may ask it."""

PROBES: Final = frozenset({*WITHOUT_DATABASE, "/readyz", "/health"})
"""Paths that are asked for by address, whatever names the service has."""

SLASHES: Final = re.compile(r"/{2,}")
LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "[::1]", ".localhost")
NOT_ALLOWED: Final = 405
_PAGES: Final = ("GET", "HEAD", "POST", "OPTIONS")
"""What Django's own pages tell apart: they take any other method for GET."""

_CORS_METHODS: Final = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
_CORS_ALLOWED: Final = (
    "Authorization, Content-Type, Accept, Idempotency-Key, If-Match, If-None-Match,"
    " X-Plan-Hash"
)
_CORS_EXPOSED: Final = (
    "X-Request-Id, Link, X-Total-Count, X-Total-Count-Precision, Retry-After,"
    " Idempotency-Replayed, ETag, X-Search-Scope, Audit-Tree-Head"
)
_PREFLIGHT_SECONDS: Final = 600


def source_address(request: HttpRequest) -> str:
    """Return the client's address; forwarded ones count from trusted proxies alone."""
    hops = request.headers.get("X-Forwarded-For", "")
    return forwarded_address(_connected(request), hops)


def _connected(request: HttpRequest) -> str:
    """Return the address of who is connected, "" for a unix socket."""
    return host_of(str(request.META.get("REMOTE_ADDR", "")))


def from_trusted_proxy(request: HttpRequest) -> bool:
    """Tell whether what a request says of the client's own counts."""
    return is_trusted_proxy(_connected(request))


def forwarded_address(address: str, forwarded: str) -> str:
    """Return who is behind the trusted proxies that `address` and `forwarded` name."""
    # From the end, where our proxies write: what stands before, clients may make up.
    for hop in reversed([hop for hop in forwarded.split(",") if hop.strip()]):
        behind = host_of(hop.strip().strip('"'))
        if not (behind and is_trusted_proxy(address)):
            break
        address = behind
    return address


def is_trusted_proxy(address: str) -> bool:
    """Tell whether `address` (empty: a unix socket) is one of `SVC_TRUSTED_PROXIES`."""
    networks = settings.SVC.trusted_proxies
    if not networks:
        return False
    parsed = ipaddress.ip_address(address or "127.0.0.1")
    return any(parsed in network for network in networks)


class Wrapped:
    """What all middleware is made with: the way on to the view."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response


class RequestContextMiddleware(Wrapped):
    """Gives each request its id and context, and answers with `X-Request-Id`."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Run the request in a context of its own."""
        claimed = request.headers.get("X-Request-Id", "")
        claimed = claimed if REQUEST_ID.fullmatch(claimed) else ""
        trusted = from_trusted_proxy(request)
        said = request.headers.get("X-Forwarded-Proto", "").rpartition(",")[2]
        if trusted and said.strip().lower() == "https":
            # Gunicorn believes those of its own host alone.
            request.META["wsgi.url_scheme"] = "https"
        taken_over = trusted and 0 < len(claimed) <= MAX_REQUEST_ID
        request_id = claimed if taken_over else new_id()
        facts = RequestContext(
            request_id=request_id,
            client_request_id=claimed,
            account_id=_account_id(request),
            source_address=source_address(request),
            path=request.path,
        )
        with context.scope(facts):
            response = self.get_response(request)
        discard_rest(request)
        response["X-Request-Id"] = request_id
        if not response.streaming and not response.has_header("Content-Length"):
            response["Content-Length"] = str(len(response.content))
        if request.method == "HEAD":
            _drop_body(response)
        return response


def _drop_body(response: Any) -> None:
    """Leave the headers alone; gunicorn would drop the rest with a warning."""
    if response.streaming:
        response.streaming_content = ()
    else:
        response.content = b""


class TransportMiddleware(Wrapped):
    """Host, length, NUL and slashes; errors before any view is found."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Refuse what no view should see, else pass on."""
        query = str(request.META.get("QUERY_STRING", ""))
        if len(request.path) > MAX_PATH or len(query) > MAX_QUERY:
            return error_answer(request, "the address of the request is too long", 414)
        announced = str(request.META.get("CONTENT_LENGTH") or "0")
        if not (announced.isascii() and announced.isdecimal()):
            # Gunicorn refuses it itself; another WSGI server may pass it on.
            text = "the Content-Length header is not a number"
            return error_answer(request, text, 400)
        if (refused := _refused_host(request)) is not None:
            return error_answer(request, refused, 400)
        request.path = SLASHES.sub("/", request.path)
        raw = str(request.META.get("RAW_URI", "")).partition("?")[0]
        is_slashed = request.path.startswith("/api/") and "%2f" in raw.lower()
        if is_slashed or "\0" in request.path:
            # Decoded it looks like a slash between ids, which hold none, nor a NUL.
            return error_answer(request, "not found", 404)
        path = SLASHES.sub("/", request.path_info)
        if path.startswith("/api/") and path.endswith("/") and len(path) > len("/api/"):
            path = path[:-1]
        request.path_info = path
        response = self.get_response(request)
        if response.status_code == NOT_ALLOWED and not getattr(
            response, "content", b""
        ):
            # Django's decorators say no more than that.
            return _not_allowed(request, response["Allow"])
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], *args: Any
    ) -> HttpResponse | None:
        """Answer a method that the path does not serve, before its form is looked at.

        Views of the API find out by themselves, for they ask first who wants to know; but
        a method that no path serves is refused to everybody.
        """
        del args
        method = request.method or ""
        asks_first = method in OPERATIONS and hasattr(view, "cls")
        if asks_first or method in (allowed := served_by(view)):
            return None
        return _not_allowed(request, ", ".join(allowed))

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponse | None:
        """Answer what a view outside of the API refuses, or its database cannot do."""
        if isinstance(exception, NotFound):  # a page is of something, by its path
            return not_found(request, exception)
        known = (ServiceError, DatabaseError, InterfaceError)
        if not isinstance(exception, known):
            return None
        status, message, _ = describe(exception)
        tell(exception, status)
        answer = error_answer(request, message, status)
        if isinstance(exception, TooManyRequests):
            answer["Retry-After"] = str(exception.retry_after)
        return answer


def served_by(view: Callable[..., Any]) -> tuple[str, ...]:
    """Return the methods of what a path leads to."""
    kind = getattr(view, "cls", None) or getattr(view, "view_class", None)
    if methods := getattr(view, "methods", ()):  # by `serves`
        return tuple(methods)
    if actions := getattr(view, "actions", None):  # of a view set
        return _in_order({*actions, "options"})
    if kind is None:
        return _PAGES
    return _in_order(name for name in kind.http_method_names if hasattr(kind, name))


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return methods by their names in views; whoever answers GET answers HEAD."""
    found = {name.upper() for name in names}
    if "GET" in found:
        found.add("HEAD")
    return tuple(method for method in OPERATIONS if method in found)


def _not_allowed(request: HttpRequest, allow: str) -> HttpResponse:
    """Return 405: a page for browsers, JSON for programs, on pages too."""
    if accepts_html(request) and not request.path.startswith("/api/"):
        response = error_page("this address cannot be asked so", NOT_ALLOWED)
    else:
        text = "this method is not allowed on this path"
        response = error_response(text, NOT_ALLOWED)
    response["Allow"] = allow
    return response


def _account_id(request: HttpRequest) -> str:
    """Return the account's id, "" while the database cannot be asked."""
    if request.path in WITHOUT_DATABASE:
        return known_account_id()
    try:
        return account_id()
    except (DatabaseError, InterfaceError):
        return ""  # the view that needs the database answers 503 and logs why


def _refused_host(request: HttpRequest) -> str | None:
    """Return why the Host header is refused, None when it is fine.

    Unset, loopback names are accepted; a server bound beyond loopback accepts any. Probes
    come by any address: a page of somebody else's has a name for this host, not that.
    """
    raw = str(request.META.get("HTTP_HOST", ""))
    if not raw:
        return None
    domain, _ = split_domain_port(raw)
    allowed = settings.SVC.allowed_hosts
    if not domain:
        return "the Host header is malformed"
    if not allowed:
        if not settings.SVC.is_for_this_host:
            return None
        allowed = LOOPBACK_HOSTS
    if request.path in PROBES:
        allowed = (*allowed, *LOOPBACK_HOSTS)
        if host_of(domain):
            return None
    # Django adds what its test client calls itself.
    own = [host for host in settings.ALLOWED_HOSTS if host != "*"]
    if validate_host(domain, [*allowed, *own]):
        return None
    return f"host {domain[:100]!r} is not allowed: add it to SVC_ALLOWED_HOSTS"


class CorsMiddleware(Wrapped):
    """Answers preflights and marks answers to allowed origins (Fetch standard).

    Off unless `SVC_CORS_ALLOWED_ORIGINS` names origins.
    """

    def __init__(self, get_response: GetResponse) -> None:
        super().__init__(get_response)
        self.allowed = settings.SVC.cors_allowed_origins
        if not self.allowed:
            raise MiddlewareNotUsed

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Handle a request under `/api`; others are never shared."""
        if not request.path.startswith("/api/"):
            return self.get_response(request)
        origin = request.headers.get("Origin", "")
        granted = (
            "*" if "*" in self.allowed else origin if origin in self.allowed else ""
        )
        preflight = (
            request.method == "OPTIONS"
            and "Access-Control-Request-Method" in request.headers
        )
        # 204 as the reference answers it; a preflight never has a token.
        response = HttpResponse(status=204) if preflight else self.get_response(request)
        # Also where it is not granted, or a cache would give that answer to who may.
        patch_vary_headers(response, ["Origin"])
        if origin and granted:
            response["Access-Control-Allow-Origin"] = granted
            response["Access-Control-Expose-Headers"] = _CORS_EXPOSED
            if preflight:
                response["Access-Control-Allow-Methods"] = _CORS_METHODS
                response["Access-Control-Allow-Headers"] = _CORS_ALLOWED
                response["Access-Control-Max-Age"] = str(_PREFLIGHT_SECONDS)
        return response


class SessionActorMiddleware(Wrapped):
    """Names the signed-in user of the admin site as the initiator of changes."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Set the actor from the session, except under `/api`, which authenticates."""
        path = request.path
        if not path.startswith("/api/") and path not in WITHOUT_DATABASE:
            user: Any = request.user
            if user.is_authenticated:
                set_actor(user)
        return self.get_response(request)


def set_actor(user: Any, *, token_id: str = "") -> None:
    """Name `user` as the one who acts for the rest of the request."""
    actor = Actor(id=user.pk, name=user.name, email=user.email)
    context.update(actor=actor, user_id=user.pk, token_id=token_id)


class PagesMiddleware(Wrapped):
    """Gives HTML its policy, shows what hides in it, and binds cookies to HTTPS."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and say what the page may load."""
        response = self.get_response(request)
        if request.is_secure():
            for cookie in response.cookies.values():
                cookie["secure"] = True
        if response.get("Content-Type", "").startswith("text/html"):
            if not response.streaming:
                response.content = revealed(response.content.decode()).encode()
            response.headers.setdefault(
                "Content-Security-Policy", CONTENT_SECURITY_POLICY
            )
        return response


class EndedSessionMiddleware(Wrapped):
    """Says why whoever sent a form of the admin site sees the sign-in page instead."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on; say it where the answer leads to the sign-in page."""
        response = self.get_response(request)
        if request.method == "POST" and response.status_code == 302:  # noqa: PLR2004
            sign_in = f"{reverse('admin:login')}?"
            led = response["Location"].startswith(sign_in) and in_admin(request)
            if led and not request.user.is_authenticated:
                return sign_in_again(request)
        return response
