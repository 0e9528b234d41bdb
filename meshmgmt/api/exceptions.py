"""Every error as one body: `{"message", "code"}`, with `errors` where fields are known."""

import logging
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.core.exceptions import SuspiciousOperation
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    OperationalError,
)
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf
from rest_framework.response import Response

from meshmgmt.api.fields import REQUIRED, TYPE_CODE
from meshmgmt.api.pages import error_page, wants_page
from meshmgmt.api.renderers import CONTENT_TYPE, OrjsonRenderer, to_json
from meshmgmt.core.errors import (
    MOST_FAULTS,
    FieldError,
    ServiceError,
    first_line,
    missing_tables,
)
from meshmgmt.core.locks import BUSY
from meshmgmt.core.registry import Registry

log = logging.getLogger(__name__)

CHALLENGE: Final = 'Token realm="api"'
RETRY_SECONDS: Final = 1
NO_CREDENTIALS: Final = "no valid authentication provided"

_HEADERS: Final = {
    401: {"WWW-Authenticate": CHALLENGE},
    503: {"Retry-After": str(RETRY_SECONDS)},
}
_constraint_messages: Final = Registry[str, str]()


def register_constraint(message: str, *names: str) -> None:
    """Give the sentence for a violated unique constraint (answered 409).

    PostgreSQL names the constraint, SQLite the table and the column.
    """
    for name in names:
        _constraint_messages.add(name, message)


def error_body(
    message: str, status: int, errors: tuple[FieldError, ...] = ()
) -> dict[str, Any]:
    """Return the body of an error answer."""
    body: dict[str, Any] = {"message": message, "code": status}
    if errors:
        body["errors"] = [
            {"field": error.field, "message": error.message} for error in errors
        ]
    return body


def error_response(message: str, status: int) -> HttpResponse:
    """Return an error answer for code outside of the API's views."""
    body = to_json(error_body(message, status))
    headers = _HEADERS.get(status)
    return HttpResponse(body, status=status, content_type=CONTENT_TYPE, headers=headers)


def error_answer(request: HttpRequest, message: str, status: int) -> HttpResponse:
    """Return an error answer in the form that its reader expects: a page or JSON."""
    if not wants_page(request):
        return error_response(message, status)
    page = error_page(message, status)
    for name, value in _HEADERS.get(status, {}).items():
        page[name] = value
    return page


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response:
    """Return the answer for anything a view raises; what is unforeseen is logged."""
    status, message, errors = describe(exc)
    request = context["request"]
    request.accepted_renderer = OrjsonRenderer()  # an export was perhaps asked for
    request.accepted_media_type = OrjsonRenderer.media_type
    body, headers = error_body(message, status, errors), _HEADERS.get(status, {})
    if isinstance(exc, ServiceError):
        body |= exc.details
        headers = exc.headers | headers
    tell(exc, status)
    return Response(body, status=status, headers=headers)


def tell(exc: BaseException, status: int) -> None:
    """Log a failure of the service: what passes by itself in a line, else with a stack."""
    if status == 503:  # noqa: PLR2004
        log.warning("request failed: %s", first_line(exc))
    elif status >= 500:  # noqa: PLR2004
        log.error("request failed: %s", exc, exc_info=exc)


OMITTED: Final = (
    " (SVC_OMITTED_FIELDS=empty on the server reads omitted fields as empty)"
)
MALFORMED: Final = "the request is malformed"
INTERNAL: Final = "an internal error occurred; it was logged with this request's id"

_PLAIN: Final[tuple[tuple[tuple[type[Exception], ...], int, str], ...]] = (
    ((drf.NotAuthenticated,), 401, NO_CREDENTIALS),
    ((Http404, drf.NotFound), 404, "the object was not found"),
    ((DjangoPermissionDenied, drf.PermissionDenied), 403, "permission denied"),
    ((drf.MethodNotAllowed,), 405, "this method is not allowed on this path"),
    ((drf.UnsupportedMediaType,), 415, "multipart is not supported: send JSON"),
    ((SuspiciousOperation,), 400, MALFORMED),
)


def describe(exc: BaseException) -> tuple[int, str, tuple[FieldError, ...]]:
    """Return status, message and field errors for an exception."""
    if isinstance(exc, ServiceError):
        return exc.status, exc.message, exc.errors
    if isinstance(exc, drf.ValidationError):
        return _validation(exc)
    # The texts of the frameworks speak of their own classes.
    for kinds, status, message in _PLAIN:
        if isinstance(exc, kinds):
            return status, message, ()
    if isinstance(exc, DatabaseError | InterfaceError):
        return (*_database(exc), ())
    if isinstance(exc, drf.APIException):
        return exc.status_code, str(exc.detail), ()
    return 500, INTERNAL, ()


def _validation(exc: drf.ValidationError) -> tuple[int, str, tuple[FieldError, ...]]:
    found = list(_flatten(exc.detail, ""))
    # One is enough: what the rules would say of such a body means nothing.
    wrong_type = any(code in {TYPE_CODE, "invalid"} for _, _, code in found)
    errors = tuple(
        FieldError(path, f"{path}: {text}" if path else text)
        for path, text, _ in found[:MOST_FAULTS]
    )
    omitted = any(text == REQUIRED for _, text, _ in found)
    hint = OMITTED if omitted and not wrong_type else ""
    return (400 if wrong_type else 422), errors[0].message + hint, errors


def _flatten(detail: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield (field path, text, code) of DRF's nested error detail."""
    if isinstance(detail, dict):
        for key, value in detail.items():
            yield from _flatten(value, _join(path, key))
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            nested = isinstance(value, dict | list)
            yield from _flatten(value, f"{path}[{index}]" if nested else path)
    else:
        yield path, str(detail), getattr(detail, "code", "") or ""


def _join(path: str, key: Any) -> str:
    if key == "non_field_errors":
        return path
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


_BUSY: Final = (BUSY, "database is locked", "lock timeout")

_UNABLE: Final = (
    (
        ("disk is full", "No space left", "could not extend"),
        "the database cannot store anything now: its disk is full",
    ),
    (
        (
            "readonly database",
            "read-only transaction",
            "during recovery",
            "cannot be written",
        ),
        "the database is read-only now: nothing can be changed",
    ),
    (
        ("permission denied for",),
        "the role of the database may not do this: let it own the tables",
    ),
    (_BUSY, "other writes take too long at this moment: try again"),
    (
        ("statement timeout",),
        "the database took too long to answer this: ask for less, or try again",
    ),
)
"""What databases say, and what it means."""

_NUL: Final = ("cannot contain NUL", "unsupported Unicode escape sequence")
"""PostgreSQL: a text, or a text in JSON, has a NUL, which nothing that is stored has."""

_WORKER_LOST: Final = (
    *("connection to the remote node", "any connections to the node"),
    *("failed to COPY to shard", "failed to complete COPY on", "connection not open"),
    *("server closed the connection", "terminating connection", "database system is"),
)
"""Citus: a lost worker is an internal error (XX000) to a COPY, or while a commit begins."""


def is_busy(exc: OperationalError) -> bool:
    """Tell whether a lock was waited for in vain."""
    return any(sign in str(exc) for sign in _BUSY)


def _database(exc: Exception) -> tuple[int, str]:
    """Races end in 409; a NUL in 400; a busy, full, read-only or absent database in 503."""
    text = str(exc)
    # A second guard: two requests may pass the same rule at once.
    if isinstance(exc, IntegrityError):
        for name, message in _constraint_messages.items():
            if name in text:
                return 409, message
    # Only clients have such texts; SQLite looks for them and finds nothing.
    if isinstance(exc, DataError) and any(sign in text for sign in _NUL):
        return 400, MALFORMED
    for signs, message in _UNABLE:
        if any(sign in text for sign in signs):
            return 503, message
    if missing := missing_tables(exc):
        return 503, missing
    lost = isinstance(exc, InternalError) and any(sign in text for sign in _WORKER_LOST)
    if lost or isinstance(exc, OperationalError | InterfaceError):
        return 503, "the database is not available now; try again"
    return 500, INTERNAL


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer Django's own 400."""
    return error_answer(request, MALFORMED, 400)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer Django's own 403."""
    return error_answer(request, "permission denied", 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer an unknown path."""
    return error_answer(request, "this path was not found", 404)


def in_a_line(record: logging.LogRecord) -> bool:
    """Filter Django's own records of what passes by itself: one line, without a stack.

    What `tell` said already is not said again.
    """
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return getattr(record, "status_code", 0) != 503  # noqa: PLR2004
    if describe(error)[0] == 503:  # noqa: PLR2004
        record.msg, record.args = f"{record.getMessage()}: {first_line(error)}", ()
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.exc_info = None
    return True


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what no view handled; Django has logged it.

    A middleware that asks a database which is away gets here too.
    """
    error = sys.exception()
    if isinstance(error, DatabaseError | InterfaceError):
        status, message = _database(error)
        return error_answer(request, message, status)
    return error_answer(request, INTERNAL, 500)
