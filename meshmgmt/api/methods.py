"""Which methods a path serves, and the answer to the others."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from django.http import HttpRequest, HttpResponse

from meshmgmt.api.exceptions import error_response
from meshmgmt.api.pages import accepts_html, error_page
from meshmgmt.api.permissions import OPERATIONS

NOT_ALLOWED: Final = 405
_PAGES: Final = ("GET", "HEAD", "POST", "OPTIONS")
"""What Django's own pages tell apart: they take any other method for GET."""


View = TypeVar("View", bound=Callable[..., Any])


def serves(*methods: str) -> Callable[[View], View]:
    """Say which methods the page that a function makes is for; others are 405."""

    def mark(view: View) -> View:
        view.__dict__["methods"] = methods
        return view

    return mark


def served_by(view: Callable[..., Any]) -> tuple[str, ...]:
    """Return the methods of what a path leads to."""
    kind = getattr(view, "cls", None) or getattr(view, "view_class", None)
    if methods := getattr(view, "methods", ()):  # by the decorator above
        return tuple(methods)
    if actions := getattr(view, "actions", None):  # of a view set
        return _in_order({*actions, "options"})
    if kind is None:
        return _PAGES
    return _in_order(name for name in kind.http_method_names if hasattr(kind, name))


def refusal(request: HttpRequest, view: Callable[..., Any]) -> HttpResponse | None:
    """Return 405 for a method that the path does not serve, None for others.

    Views of the API find out by themselves, for they ask first who wants to know; but
    a method that no path serves is refused to everybody.
    """
    method = request.method or ""
    asks_first = method in OPERATIONS and hasattr(view, "cls")
    if asks_first or method in (allowed := served_by(view)):
        return None
    return not_allowed(request, ", ".join(allowed))


def not_allowed(request: HttpRequest, allow: str) -> HttpResponse:
    """Return 405: a page for browsers, JSON for programs, on pages too."""
    if accepts_html(request) and not request.path.startswith("/api/"):
        response = error_page("this address cannot be asked so", NOT_ALLOWED)
    else:
        text = "this method is not allowed on this path"
        response = error_response(text, NOT_ALLOWED)
    response["Allow"] = allow
    return response


def _in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return methods by their names in views; whoever answers GET answers HEAD."""
    found = {name.upper() for name in names}
    if "GET" in found:
        found.add("HEAD")
    return tuple(method for method in OPERATIONS if method in found)
