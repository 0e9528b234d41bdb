"""The `endpoint` label: a route's template, never a path as sent (bounded labels)."""

import re
from functools import lru_cache
from typing import Final

from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, resolve

UNMATCHED: Final = "unmatched"
METHODS: Final = frozenset(
    {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"}
)
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
    """Return the label for a request.

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
    return request.method if request.method in METHODS else "other"
