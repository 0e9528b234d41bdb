"""`/`: where everything is, as a page for people and as JSON for programs."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.cache import patch_vary_headers

import meshmgmt
from meshmgmt.api.pages import serves, wants_page
from meshmgmt.api.renderers import CONTENT_TYPE, to_json


@serves("GET", "HEAD")
def front(request: HttpRequest) -> HttpResponse:
    """Lead to the parts of the service; the version is for those who are signed in."""
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
