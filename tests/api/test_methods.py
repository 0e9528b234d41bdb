"""Methods that a path does not serve: 405 with the body of all errors, on every path."""

import re
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from meshmgmt.api.middleware import served_by
from tests.api_client import Answer, Api
from tests.people import api_as

pytestmark = pytest.mark.django_db

PROBES = ("/livez", "/readyz", "/health", "/metrics")
UNKNOWN = ("TRACE", "PROPFIND", "BREW")


def paths(found: list[Any], before: str = "/") -> dict[str, Any]:
    """Return an address for each route, with its view."""
    all_of_them: dict[str, Any] = {}
    for one in found:
        if isinstance(one, URLResolver):
            all_of_them |= paths(one.url_patterns, before + str(one.pattern))
        elif isinstance(one, URLPattern):
            route = re.sub(r"<[^>]+>", "0" * 20, before + str(one.pattern))
            all_of_them[route] = one.callback
    return all_of_them


ROUTES = {
    path: view
    for path, view in paths(get_resolver().url_patterns).items()
    if not re.search(r"[\^(\\$]", path)
}


def assert_refused(answer: Answer, path: str) -> None:
    message = "this method is not allowed on this path"
    assert (answer.status, answer.json) == (405, {"message": message, "code": 405}), (
        path
    )
    assert {"GET", "POST", "PUT", "DELETE"} & set(answer.headers["Allow"].split(", "))


@pytest.mark.parametrize("method", UNKNOWN)
def test_methods_that_no_path_serves_are_405_everywhere(method: str):
    assert len(ROUTES) > 250
    stranger = Api()
    for path in ROUTES:
        assert_refused(stranger.call(method, path), path)


@pytest.mark.parametrize("method", [*UNKNOWN, "POST", "DELETE"])
def test_static_files_are_only_read(method: str):
    assert_refused(Api().call(method, "/static/api/favicon.svg"), method)


def test_methods_that_a_page_does_not_serve_are_405():
    stranger = Api()
    pages = {path: view for path, view in ROUTES.items() if not hasattr(view, "cls")}
    assert set(PROBES) < set(pages)
    for path, view in pages.items():
        for method in {"PUT", "PATCH", "DELETE"} - set(served_by(view)):
            assert_refused(stranger.call(method, path), path)


@pytest.mark.parametrize("path", PROBES)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE"])
def test_probes_are_only_read(path: str, method: str):
    answer = Api().call(method, path, {})
    assert_refused(answer, path)
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS"


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/", "GET, HEAD"),
        ("/favicon.ico", "GET, HEAD"),
        ("/oidc/login", "GET"),
        ("/setup", "GET, HEAD, POST"),
        ("/admin/", "GET, HEAD, POST, OPTIONS"),
    ],
)
def test_pages_say_what_they_serve(path: str, allow: str):
    assert Api().call("DELETE", path).headers["Allow"] == allow


def test_what_is_allowed_is_what_the_path_serves():
    owner = api_as()
    for path, view in ROUTES.items():
        if hasattr(view, "cls"):
            allow = owner.call("OPTIONS", path).headers["Allow"].split(", ")
            assert set(allow) == set(served_by(view)), path
