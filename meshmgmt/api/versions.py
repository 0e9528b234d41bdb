"""Versions of answers: `ETag`, `If-None-Match`, `If-Match` (RFC 9110, 8.8.3 and 13.1).

The version of an answer is a sum of its bytes, so it changes if and only if they do, on
every host alike. What depends on audited data alone need not be made again to learn that
it is the same: then the newest event of the trail tells whether anything was written.
"""

import hashlib
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from django.http import HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.conditions import Condition
from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.core.errors import BadRequest, PreconditionFailed

if TYPE_CHECKING:
    from meshmgmt.api.views import ApiView

IF_MATCH: Final = "If-Match"
IF_NONE_MATCH: Final = "If-None-Match"
MOST: Final = 4096
_KEPT: Final = ("Cache-Control", "Content-Location", "Date", "Expires", "Vary")
"""Headers that 304 has too (RFC 9110, 15.4.5)."""

_state: list[Callable[[], object]] = []


def register_state(read: Callable[[], object]) -> None:
    """Set what tells, in one indexed query, the state of everything that is audited.

    None stands for a state that cannot be told from others.
    """
    _state[:] = [read]


def etag_of(body: bytes) -> str:
    """Return the strong version of an answer."""
    return f'"{hashlib.blake2b(body, digest_size=16).hexdigest()}"'


class VersionChanged(PreconditionFailed):
    """The object is no longer what `If-Match` says; `etag` is its version now."""

    def __init__(self, etag: str) -> None:
        super().__init__(
            "the object was changed since it was read: read it again"
            f" (its version is {etag} now)"
        )
        self.headers = {"ETag": etag}


@dataclass(slots=True)
class _Memory:
    """What answers were last, with the state of the account before they were made."""

    _found: dict[Hashable, tuple[object, str]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: Hashable) -> tuple[object, str] | None:
        return self._found.get(key)

    def put(self, key: Hashable, state: object, etag: str) -> None:
        with self._lock:
            self._found.pop(key, None)
            self._found[key] = (state, etag)
            if len(self._found) > MOST:
                del self._found[next(iter(self._found))]


_memory: Final = _Memory()


class ConditionalRead:
    """One request that reads, and may have what it asks for."""

    def __init__(self, request: Request, *, audited: bool) -> None:
        """Look only at what is sent; `audited` tells that audited data alone count."""
        header = request.headers.get(IF_NONE_MATCH, "")
        self._wanted = [tag.removeprefix("W/") for tag in parse_etags(header)]
        self._audited = audited and bool(self._wanted)
        self._key = (
            str(getattr(request.user, "pk", "")),
            request.get_full_path(),
            request.headers.get("Accept", ""),
        )
        self._at: object = None

    def unchanged(self) -> HttpResponseBase | None:
        """Return the answer, if it is known without being made."""
        if not self._audited:
            return None
        self._at = _state[0]()
        known = _memory.get(self._key)
        if known is None or known[0] != self._at or not self._has(known[1]):
            return None
        return _not_modified(known[1])

    def versioned(self, response: HttpResponse) -> HttpResponseBase:
        """Return a rendered answer with its version, or that it is unchanged."""
        etag = etag_of(response.content)
        if self._at is not None:
            _memory.put(self._key, self._at, etag)
        if self._has(etag):
            return _not_modified(etag, response)
        response["ETag"] = etag
        return response

    def _has(self, etag: str) -> bool:
        return etag in self._wanted or "*" in self._wanted


def _not_modified(etag: str, full: HttpResponse | None = None) -> HttpResponseBase:
    response = HttpResponseNotModified(headers={"ETag": etag})
    for name in _KEPT if full is not None else ():
        if full is not None and full.has_header(name):
            response[name] = full[name]
    return response


class Version(Condition):
    """`If-Match`: what a write replaces is still what its client read."""

    def __init__(self, view: "ApiView", header: str) -> None:
        """Raises BadRequest where nothing can be read."""
        self._read = getattr(view, "get", None)
        self._view = view
        self._wanted = parse_etags(header)
        if self._read is None:
            raise BadRequest(f"{IF_MATCH}: nothing can be read at this path")

    def begin(self) -> None:
        """Compare. Raises VersionChanged, and what reading raises."""
        assert self._read is not None
        view = self._view
        answer = self._read(view.request, *view.args, **view.kwargs)
        made = isinstance(answer, Response)
        etag = etag_of(OrjsonRenderer().render(answer.data) if made else answer.content)
        if "*" not in self._wanted and etag not in self._wanted:
            raise VersionChanged(etag)
