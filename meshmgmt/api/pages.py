"""HTML outside of the admin site's own pages: errors, and what every page promises."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.http import urlencode

from meshmgmt.core import context

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
"""Browsers hold redirects of a form to `form-action` too: none of ours leaves this site,
for the way to an identity provider is a link."""
SESSION_ENDED: Final = (
    "Your session has ended, and what you sent was not saved. Sign in to go on."
)

_TITLES: Final = {
    400: "This request is malformed",
    403: "You may not do this",
    404: "Nothing is here",
    405: "This page does not work that way",
    410: "This is over",
    429: "Please wait",
    503: "Not available at this moment",
}
_INTERNAL: Final = "Something went wrong here"

GetResponse = Callable[[HttpRequest], HttpResponse]


class PagesMiddleware:
    """Gives HTML its security policy."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and say what the page may load."""
        response = self.get_response(request)
        if response.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault(
                "Content-Security-Policy", CONTENT_SECURITY_POLICY
            )
        return response


def wants_page(request: HttpRequest) -> bool:
    """Tell whether an error is for people: not under `/api`, and asked for by a browser.

    The admin site is for browsers alone.
    """
    if request.path.startswith("/api/"):
        return False
    return _in_admin(request) or accepts_html(request)


def accepts_html(request: Any) -> bool:
    """Tell whether a browser asks, which names HTML; `*/*` is what programs send."""
    return "text/html" in request.headers.get("Accept", "")


def error_page(message: str, status: int, *, title: str = "") -> HttpResponse:
    """Return an error as a page, made without request and database, which may be broken."""
    facts = {
        "title": title or _TITLES.get(status, _INTERNAL),
        "message": sentence(message),
        "status": status,
        "request_id": context.current().request_id,
    }
    return HttpResponse(render_to_string("pages/error.html", facts), status=status)


def sentence(message: str) -> str:
    """Return a message of the API as people write: capital letter, full stop."""
    end = "" if message.endswith((".", "!", "?")) else "."
    return f"{message[:1].upper()}{message[1:]}{end}"


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Say what to do about a form that cannot be trusted (CSRF_FAILURE_VIEW)."""
    signing_in = request.path == reverse("admin:login")
    if _in_admin(request) and not signing_in and not request.user.is_authenticated:
        return sign_in_again(request)
    if signing_in and request.user.is_authenticated:  # in another tab meanwhile
        return HttpResponseRedirect(reverse("admin:index"))
    message = (
        "this form was opened before you last signed in or out, or your browser keeps no"
        " cookies for this site: go back, reload the page and send it again"
    )
    return error_page(message, 403, title="This form is too old")


def sign_in_again(request: HttpRequest) -> HttpResponse:
    """Lead to the sign-in page, which says that the session has ended, and back."""
    messages.warning(request, SESSION_ENDED)
    query = urlencode({"next": request.get_full_path()})
    return HttpResponseRedirect(f"{reverse('admin:login')}?{query}")


class EndedSessionMiddleware:
    """Says why whoever sent a form of the admin site sees the sign-in page instead."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Pass on; say it where the answer leads to the sign-in page."""
        response = self.get_response(request)
        if request.method == "POST" and response.status_code == 302:  # noqa: PLR2004
            sign_in = f"{reverse('admin:login')}?"
            led = response["Location"].startswith(sign_in) and _in_admin(request)
            if led and not request.user.is_authenticated:
                return sign_in_again(request)
        return response


@cache
def admin_site() -> str:
    """Return the path under which the admin site is."""
    return reverse("admin:index")


def _in_admin(request: HttpRequest) -> bool:
    return request.path.startswith(admin_site())
