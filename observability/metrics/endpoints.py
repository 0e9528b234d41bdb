"""The `endpoint` label: a route's template, never a path as sent (bounded labels)."""

import re
from functools import lru_cache
from typing import Final

from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, ResolverMatch, resolve

from meshmgmt.core import context

UNMATCHED: Final = "unmatched"
UNAUTHENTICATED: Final = "unauthenticated"
"""Stands for the endpoint of all that strangers were refused."""
OTHER: Final = "other"
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
UNAUTHORIZED: Final = 401
NOT_ALLOWED: Final = 405
REFUSALS: Final = frozenset({NOT_ALLOWED, 429})
_PARAMETER: Final = re.compile(r"<(?:[^:<>]+:)?([^<>]+)>")


@lru_cache(maxsize=4096)
def template(route: str) -> str:
    """Return a route as the reference writes it: `/api/zones/zoneId`.

    Parameters lose their brackets and converters and are written in camel case.
    """
    plain = re.sub(r"\(\?P(<\w+>)(?:[^()]|\([^()]*\))*\)", r"\1", route.strip("^$"))
    named = _PARAMETER.sub(lambda match: _camel(match[1]), plain)
    return "/" + named.replace("\\", "").rstrip("?$").strip("/")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def endpoint_of(request: HttpRequest) -> str:
    """Return the route of a request, as logs and traces name it.

    What was answered before the URL was resolved (a preflight, a refused host) is
    resolved here; such answers are rare.
    """
    match: ResolverMatch | None = request.resolver_match
    if match is None:
        try:
            match = resolve(request.path_info)
        except Resolver404:
            return UNMATCHED
    return template(match.route)


def method_of(request: HttpRequest) -> str:
    """Return the method as label; verbs nobody knows share one."""
    return request.method if request.method in METHODS else OTHER


def answered_labels(
    request: HttpRequest, response: HttpResponseBase
) -> tuple[str, str]:
    """Return endpoint and method as labels of what was answered.

    Every pair is a dozen series or more, histograms included. So those who are nobody here
    must not be able to make one for each route and verb: what was refused them is counted
    under one endpoint, and so is what was answered before the path was looked at. A verb
    that a path does not serve is `other`.
    """
    code = response.status_code
    if request.resolver_match is None:
        endpoint = UNMATCHED
    elif code == UNAUTHORIZED or (code in REFUSALS and not context.current().user_id):
        endpoint = UNAUTHENTICATED
    else:
        endpoint = template(request.resolver_match.route)
    return endpoint, OTHER if code == NOT_ALLOWED else method_of(request)
