"""Versions of answers: `ETag`, `If-None-Match`, `If-Match` (RFC 9110, 8.8.3 and 13.1).

The version of an answer is a sum of its bytes, so it changes if and only if they do, on
every host alike. What depends on audited data alone need not be made again while it is the
same: each process keeps such answers, and the newest event of the trail tells whether
anything was written since.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.http import HttpResponse, HttpResponseNotModified
from django.http.response import HttpResponseBase
from django.utils.http import parse_etags
from rest_framework.request import Request
from rest_framework.response import Response

from meshmgmt.api.conditions import Condition
from meshmgmt.api.renderers import OrjsonRenderer
from meshmgmt.core.errors import BadRequest, PreconditionFailed
from meshmgmt.core.registry import Registry

IF_MATCH: Final = "If-Match"
IF_NONE_MATCH: Final = "If-None-Match"
MOST_BYTES: Final = 16 * 2**20
"""What the answers that a process keeps may take."""
LARGEST: Final = 2**20
"""Bytes; of a larger answer the version alone is kept."""
_BESIDE: Final = 1024
"""Bytes that an answer takes beside its body and what was asked for, about."""
_UNCHANGED: Final = ("Cache-Control", "Content-Location", "ETag", "Expires", "Vary")
"""Headers that 304 has too (RFC 9110, 15.4.5)."""

_Key = tuple[str, ...]

states: Final = Registry[str, Callable[[], object]]()
"""What tells, in one indexed query, the state of everything that is audited; None stands
for one that cannot be told from others."""


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


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was answered; `state` is that of the account before the answer was made."""

    state: object
    headers: Mapping[str, str]
    body: bytes | None


@dataclass(slots=True)
class _Memory:
    """The answers used last, as many as there is room for."""

    _found: OrderedDict[_Key, _Answer] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _bytes: int = 0

    def get(self, key: _Key, state: object) -> _Answer | None:
        with self._lock:
            answer = self._found.get(key)
            if answer is None or answer.state != state:
                return None
            self._found.move_to_end(key)
            return answer

    def put(self, key: _Key, answer: _Answer) -> None:
        with self._lock:
            if (old := self._found.pop(key, None)) is not None:
                self._bytes -= _size(key, old)
            self._found[key] = answer
            self._bytes += _size(key, answer)
            # By bytes, not by number: one answer may be as large as a thousand others.
            while self._bytes > MOST_BYTES:
                self._bytes -= _size(*self._found.popitem(last=False))


def _size(key: _Key, answer: _Answer) -> int:
    return _BESIDE + sum(map(len, key)) + len(answer.body or b"")


_memory: Final = _Memory()


class ConditionalRead:
    """One request that reads, and may have what it asks for, or be given it from memory."""

    def __init__(self, request: Request, beside: Hashable | None) -> None:
        """Look only at what is sent.

        `beside` is what the answer depends on beside audited data, None: on anything.
        """
        header = request.headers.get(IF_NONE_MATCH, "")
        # Compared weakly (RFC 9110, 13.1.2): a proxy that compresses weakens tags.
        self._wanted = [tag.removeprefix("W/") for tag in parse_etags(header)]
        self._beside = beside
        self._read_already = getattr(request.auth, "account_state", None)
        self._key = (
            str(getattr(request.user, "pk", "")),  # who may see what
            request.get_full_path(),
            request.headers.get("Accept", ""),
        )
        self._at: object = None

    def known(self) -> HttpResponseBase | None:
        """Return the answer, if it need not be made.

        To be called once it is known that they may ask. The state is read first, so that
        an answer is never older than the state that it is kept with.
        """
        if self._beside is None:
            return None
        # The query that found the token may have read it along.
        state = self._read_already or states.only()
        if state is not None:
            self._at = (state, self._beside)
        answer = _memory.get(self._key, self._at)
        if answer is None:
            return None
        unchanged = self._unchanged(answer.headers)
        if unchanged is None and answer.body is not None:
            return HttpResponse(answer.body, headers=answer.headers)
        return unchanged

    def versioned(self, response: HttpResponse) -> HttpResponseBase:
        """Return a rendered answer with its version, or that it is unchanged."""
        if response.has_header("ETag"):  # it was known
            return response
        body = response.content
        response["ETag"] = etag_of(body)
        headers = dict(response.items())
        if self._at is not None:
            kept = body if len(body) <= LARGEST else None
            _memory.put(self._key, _Answer(self._at, headers, kept))
        return self._unchanged(headers) or response

    def _unchanged(self, headers: Mapping[str, str]) -> HttpResponseBase | None:
        """Return 304 for who has the version already."""
        if "*" not in self._wanted and headers["ETag"] not in self._wanted:
            return None
        kept = {name: headers[name] for name in _UNCHANGED if name in headers}
        return HttpResponseNotModified(headers=kept)


class Version(Condition):
    """`If-Match`: what a write replaces is still what its client read."""

    def __init__(self, header: str, read: Callable[[], Any] | None) -> None:
        """Raises BadRequest where nothing can be read; `read` gives what is there."""
        if read is None:
            raise BadRequest(f"{IF_MATCH}: nothing can be read at this path")
        self._read = read
        self._wanted = parse_etags(header)

    def begin(self) -> None:
        """Compare. Raises VersionChanged, and what reading raises."""
        answer = self._read()
        made = isinstance(answer, Response)
        etag = etag_of(OrjsonRenderer().render(answer.data) if made else answer.content)
        # Compared strongly (RFC 9110, 13.1.1): a tag with W/ is none of ours.
        if "*" not in self._wanted and etag not in self._wanted:
            raise VersionChanged(etag)
