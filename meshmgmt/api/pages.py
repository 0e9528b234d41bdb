"""HTML outside of the admin site's own pages: `/`, errors, and what every page promises."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.utils.http import urlencode

import meshmgmt
from meshmgmt.api.renderers import CONTENT_TYPE, to_json
from meshmgmt.core import context
from meshmgmt.core.printable import printable

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

_HIDDEN: Final = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Controls, those of the direction of text too, and what has no width."""
_SENT_BACK: Final = re.compile(
    r'(<textarea\b[^>]*>.*?</textarea>|\svalue="[^"]*")', re.DOTALL
)
"""What forms of a page hold: it must come back as it was."""

View = TypeVar("View", bound=Callable[..., Any])


def revealed(html: str) -> str:
    r"""Return a page on which nothing that others wrote hides, or turns what is beside it.

    Characters that are not seen show as in Python, `\x1b`, `\u202e`.
    """
    if not _HIDDEN.search(html):
        return html
    parts = _SENT_BACK.split(html)
    parts[::2] = (_HIDDEN.sub(_escape, part) for part in parts[::2])
    return "".join(parts)


def _escape(found: re.Match[str]) -> str:
    return printable(found[0])


def serves(*methods: str) -> Callable[[View], View]:
    """Say which methods the page that a function makes is for; others are 405."""

    def mark(view: View) -> View:
        view.__dict__["methods"] = methods
        return view

    return mark


def wants_page(request: HttpRequest) -> bool:
    """Tell whether an error is for people: not under `/api`, and asked for by a browser.

    The admin site is for browsers alone.
    """
    if request.path.startswith("/api/"):
        return False
    return in_admin(request) or accepts_html(request)


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
    if in_admin(request) and not signing_in and not request.user.is_authenticated:
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


@cache
def admin_site() -> str:
    """Return the path under which the admin site is."""
    return reverse("admin:index")


def in_admin(request: HttpRequest) -> bool:
    """Tell whether a page of the admin site is asked for."""
    return request.path.startswith(admin_site())


@serves("GET", "HEAD")
def front(request: HttpRequest) -> HttpResponse:
    """Lead to all parts of the service; the version is for those who are signed in."""
    user: Any = request.user
    signed_in = user.is_authenticated and user.is_active
    links = {"admin": reverse("admin:index"), **_documentation(signed_in=signed_in)}
    links["health"] = reverse("relay-health")
    version = {"version": meshmgmt.__version__} if signed_in else {}
    if wants_page(request):
        facts = {"title": "Mesh management", "links": links, **version}
        response = render(request, "pages/front.html", facts)
    else:
        response = HttpResponse(to_json(links | version), content_type=CONTENT_TYPE)
    patch_vary_headers(response, ["Accept", "Cookie"])
    return response


def _documentation(*, signed_in: bool) -> dict[str, str]:
    """Return the documentation that the reader may see (`SVC_API_DOCS`)."""
    shown = settings.SVC.api_docs
    if shown == "off" or (shown == "token" and not signed_in):
        return {}
    return {"docs": reverse("docs"), "schema": reverse("schema")}


@serves("GET", "HEAD")
def favicon(request: HttpRequest) -> HttpResponse:
    """Lead browsers that show JSON to the icon of the pages."""
    del request
    return HttpResponseRedirect(static("api/favicon.svg"))
