"""Parts of requests as proxies log them, in one form whichever proxy it was."""

import re
from typing import Final, NamedTuple

_METHOD: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # token of RFC 9110
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://([^/?#]*)(.*)", re.DOTALL)
_TUNNEL: Final = "CONNECT"


class Request(NamedTuple):
    """What a request line says; `host` only when the target itself names one."""

    method: str
    host: str
    path: str


NOTHING: Final = Request("", "", "")


def request_of(line: str) -> Request:
    """Return what a request line says, of HTTP/0.9 as well; NOTHING for rubbish."""
    method, _, target = line.partition(" ")
    rest, _, version = target.rpartition(" ")
    if version.startswith("HTTP/"):
        target = rest
    known = target.startswith("/") or target == "*" or _ABSOLUTE.match(target)
    if not _METHOD.fullmatch(method) or not (known or method == _TUNNEL):
        return NOTHING
    return asked(method, target)


def asked(method: str, target: str) -> Request:
    """Return method, host and path of a request for `target` (RFC 9112, 3.2).

    Query and fragment are left out.
    """
    if method == _TUNNEL and not target.startswith("/"):
        return Request(method, bare_host(target), "")
    absolute = _ABSOLUTE.match(target)
    if absolute is None:
        return Request(method, "", _path(target))
    authority, rest = absolute.groups()
    # What stands before the @ is a secret.
    return Request(method, bare_host(authority.rpartition("@")[2]), _path(rest) or "/")


def _path(target: str) -> str:
    return target.partition("?")[0].partition("#")[0]


def bare_host(text: str) -> str:
    """Return a host in lower case, without port, brackets and the root's dot."""
    if text.startswith("["):
        return text[1:].partition("]")[0].lower()
    # More colons than one are an IPv6 address without brackets, which has no port.
    host = text.partition(":")[0] if text.count(":") == 1 else text
    return host.lower().removesuffix(".")
