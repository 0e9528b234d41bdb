"""Answers as JSON, which rendering a request asks for, and room for large ones."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from meshmgmt.core import clock
from meshmgmt.core.errors import Unavailable
from meshmgmt.core.locks import Lane

CONTENT_TYPE = "application/json; charset=UTF-8"


def _default(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return clock.rfc3339(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def to_json(value: Any) -> bytes:
    """Return `value` as JSON text with a final newline."""
    options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME
    return orjson.dumps(value, default=_default, option=options)


class OrjsonRenderer(BaseRenderer):
    """Renders every answer of the API."""

    media_type = "application/json"
    format = "json"
    charset = "UTF-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the body; nothing stands for the empty object."""
        return to_json({} if data is None else data)


_RANGE: Final = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")+')
_PART: Final = re.compile(r'(?:[^;"]|"(?:[^"\\]|\\.)*")+')
_QUALITY: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


class Negotiation(BaseContentNegotiation):
    """Takes any body but multipart as JSON; `Accept` chooses among export formats.

    A view that exports lists further renderers. One is chosen when the header prefers it
    to JSON; JSON is also the answer to a header that accepts nothing we have.
    """

    def select_parser(
        self, request: Request, parsers: Iterable[BaseParser]
    ) -> BaseParser | None:
        """Return the JSON parser, None (415) for multipart."""
        if (request.content_type or "").lower().startswith("multipart/"):
            return None
        return next(iter(parsers))

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer of the highest quality, the first of equals."""
        choices: list[Any] = list(renderers)
        if len(choices) > 1:
            accepted = accepted_ranges(request.headers.get("Accept", ""))
            # Sorting is stable: of equals the first stays first.
            choices.sort(key=lambda choice: -quality(choice.media_type, accepted))
        return choices[0], choices[0].media_type


def accepted_ranges(header: str) -> dict[str, float]:
    """Return the quality of each media range of `Accept` (RFC 9110, Section 12.5.1).

    A range with a malformed quality is left out, as is what is no range at all. Other
    parameters are not looked at: none of our formats has any.
    """
    found: dict[str, float] = {}
    for element in _RANGE.findall(header):
        name, _, rest = element.strip().lower().partition(";")
        parameters = (part.partition("=") for part in _PART.findall(rest))
        weights = [value.strip() for key, _, value in parameters if key.strip() == "q"]
        # RFC 9110, Section 12.4.2.
        weight = weights[0] if weights else "1"
        if "/" in name and _QUALITY.fullmatch(weight):
            name = name.strip()
            found[name] = max(float(weight), found.get(name, 0.0))
    return found


def quality(media_type: str, accepted: dict[str, float]) -> float:
    """Return how welcome a media type is, from 0 (not at all) to 1.

    The most specific range that matches decides.
    """
    for name in (media_type, f"{media_type.partition('/')[0]}/*", "*/*"):
        if name in accepted:
            return accepted[name]
    return 0.0


LARGE_BYTES: Final = 2**20
readers: Final = Lane(patience=60.0, grace=20.0)
"""Who makes a large answer or waits to: each process makes one at a time.

A list takes about ten times its size while it is made, and threads that share one
interpreter make several no sooner than one after the other. How large an answer will be is
taken from those before it; the first of its kind counts as large.
"""
BUSY: Final = "too many large answers are being made: try again in a few seconds"
_FADING: Final = 0.9
"""One small answer says little of a kind that had a large one."""

_sizes: Final[dict[str, float]] = {}


@contextmanager
def room_for(kind: str) -> Iterator[None]:
    """Run a block that makes an answer of this kind, alone when it will be large.

    Raises Unavailable when others take too long.
    """
    if _sizes.get(kind, LARGE_BYTES) < LARGE_BYTES:
        yield
        return
    with readers.turn(Unavailable(BUSY)):
        yield


def note_size(kind: str, size: int) -> None:
    """Remember how many bytes an answer of this kind had."""
    _sizes[kind] = max(size, _sizes.get(kind, 0) * _FADING)
