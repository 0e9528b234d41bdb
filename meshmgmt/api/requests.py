"""What requests hold: bodies, bounded and read as strict JSON, and query parameters.

Bodies may be chunked and compressed. Bad parameters are answered 400.
"""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from io import BytesIO
from typing import IO, Any, Final, TypeVar
from urllib.parse import unquote_to_bytes

import orjson
import zstandard
from django.http import HttpRequest
from gunicorn.http.errors import ParseException
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from meshmgmt.core.errors import (
    BadRequest,
    FieldError,
    PayloadTooLarge,
    UnsupportedMedia,
)
from meshmgmt.core.names import quoted

Absent = TypeVar("Absent")

_CHUNK: Final = 1 << 16
_DISCARDED: Final = 1 << 26
# Of four bytes may come 128 KiB: a step makes 16 MiB at most.
_ZSTD_STEP: Final = 512
_GZIP_STEP: Final = 4096


def read_body(request: HttpRequest, limit: int) -> bytes:
    """Return the whole body, decompressed.

    `limit` counts bytes before and after decompression. Raises PayloadTooLarge beyond
    it, UnsupportedMedia for an unknown Content-Encoding, BadRequest for a broken one or
    a body that ends before its announced length.
    """
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in {"identity", "", "gzip", "x-gzip", "zstd"}:
        raise UnsupportedMedia(
            f"Content-Encoding {encoding[:40]!r} is not supported: use gzip or zstd"
        )
    _refuse_announced_size(request, limit)
    chunks = _raw_chunks(request)
    if encoding in {"gzip", "x-gzip"}:
        # Bounded twice: before, and below after decompression.
        chunks = _gunzip(_bounded(chunks, limit))
    elif encoding == "zstd":
        chunks = _unzstd(_bounded(chunks, limit))
    return b"".join(_bounded(chunks, limit))


def _refuse_announced_size(request: HttpRequest, limit: int) -> None:
    announced = request.META.get("CONTENT_LENGTH") or "0"
    if announced.isdecimal() and int(announced) > limit:
        raise _too_large(limit)


def _too_large(limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"the body exceeds the limit of {limit} bytes")


def _source(request: HttpRequest) -> IO[bytes]:
    """Return the stream to read; Django reads nothing of a chunked body by itself."""
    meta: dict[str, Any] = request.META
    chunked = "chunked" in meta.get("HTTP_TRANSFER_ENCODING", "").lower()
    if chunked and not meta.get("CONTENT_LENGTH"):
        stream: IO[bytes] = meta["wsgi.input"]
        return stream
    return request  # type: ignore[return-value]  # HttpRequest has a file's read()


def discard_rest(request: HttpRequest) -> None:
    """Read what nobody read of a body.

    gunicorn resets a connection with much unread on it, and a proxy that is still
    sending makes 502 of that. What is announced as endless is left to gunicorn.
    """
    announced = request.META.get("CONTENT_LENGTH") or "0"
    left = _DISCARDED if announced.isdecimal() and int(announced) <= _DISCARDED else 0
    source = _source(request)
    with suppress(OSError, ParseException):
        while left > 0 and (chunk := source.read(_CHUNK)):
            left -= len(chunk)


def _raw_chunks(request: HttpRequest) -> Iterator[bytes]:
    announced = request.META.get("CONTENT_LENGTH") or ""
    missing = int(announced) if announced.isdecimal() else 0
    source = _source(request)
    try:
        while chunk := source.read(_CHUNK):
            missing -= len(chunk)
            yield chunk
    except OSError as error:
        raise BadRequest(_ended_early(announced)) from error
    except ParseException as error:
        raise BadRequest("the body ended early, or its chunks are broken") from error
    if missing > 0:  # not every server notices
        raise BadRequest(_ended_early(announced))


def _ended_early(announced: str) -> str:
    if announced:
        return f"the body ended early: Content-Length is {announced[:20]}"
    return "the body ended early: its last chunk did not come"


def _bounded(chunks: Iterator[bytes], limit: int) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise _too_large(limit)
        yield chunk


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield decompressed pieces of bounded size, so a zip bomb is seen early.

    Several members are one body, and zero bytes after a member mean nothing, as for
    gzip(1). Small steps keep the copies of what follows a member small.
    """
    decoder = zlib.decompressobj(wbits=31)
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), _GZIP_STEP):
                data = chunk[start : start + _GZIP_STEP]
                while data:
                    if decoder.eof:
                        data = data.lstrip(b"\0")
                        if not data:
                            break
                        decoder = zlib.decompressobj(wbits=31)
                    yield decoder.decompress(data, _CHUNK)
                    data = decoder.unused_data or decoder.unconsumed_tail
    except zlib.error as error:
        raise BadRequest("the body is not valid gzip") from error
    if not decoder.eof:
        raise BadRequest("the gzip body is truncated")


def _unzstd(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield decompressed pieces; a block of at least 4 bytes gives at most 128 KiB."""
    # What zstd(1) reads without further options.
    frames = zstandard.ZstdDecompressor(max_window_size=1 << 27)
    decoder = frames.decompressobj()
    try:
        for chunk in chunks:
            for start in range(0, len(chunk), _ZSTD_STEP):
                data = chunk[start : start + _ZSTD_STEP]
                while data:
                    if decoder.eof:  # a further frame
                        decoder = frames.decompressobj()
                    yield decoder.decompress(data)
                    data = decoder.unused_data
    except zstandard.ZstdError as error:
        raise BadRequest("the body is not valid zstd") from error
    if not decoder.eof:
        raise BadRequest("the zstd body is truncated")


MAX_DEPTH: Final = 64


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON text. Raises BadRequest with a sentence.

    Refused: invalid JSON, NaN, broken UTF-8, and nesting deeper than 64 levels.
    """
    if not body.strip():
        raise BadRequest("the body is empty: a JSON object is expected")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not valid JSON: {error}") from error
    if deeper_than(value, MAX_DEPTH):
        raise BadRequest(f"the JSON body is nested deeper than {MAX_DEPTH} levels")
    return value


def deeper_than(value: Any, limit: int) -> bool:
    """Tell whether objects and arrays in `value` nest deeper than `limit`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            child
            for container in level
            for child in (
                container.values() if isinstance(container, dict) else container
            )
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return bool(level)


class ApiRequest(Request):
    """A request whose body is read when it is asked for, chunked bodies too."""

    body_limit: int = 0

    def _load_stream(self) -> None:
        self._stream = BytesIO(read_body(self._request, self.body_limit))

    def raw_body(self) -> bytes:
        """Return the decompressed body, which may be asked for again."""
        stream = self.stream
        assert isinstance(stream, BytesIO)
        return stream.getvalue()


class StrictJSONParser(BaseParser):
    """Parses every body as a JSON object."""

    media_type = "application/json"
    may_be_absent = False

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the object. Raises BadRequest for anything else."""
        body = stream.read()
        if self.may_be_absent and not body.strip():
            return {}
        value = parse_json(body)
        if not isinstance(value, dict):
            raise BadRequest("the body must be a JSON object")
        return value


class OptionalJSONParser(StrictJSONParser):
    """Parses every body as a JSON object; no body at all is the empty one."""

    may_be_absent = True


_LONGEST_NAME: Final = 64
# What the reference API reads as a boolean in a query (Go's strconv.ParseBool).
_TRUTHS: Final = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def require_utf8(request: HttpRequest) -> None:
    """Raise BadRequest naming each parameter that is not UTF-8.

    Django puts U+FFFD for what it cannot decode, and would then look for that.
    """
    # WSGI hands bytes over as Latin-1.
    raw = str(request.META.get("QUERY_STRING", "")).encode("latin-1", "replace")
    broken = dict.fromkeys(
        _name(pair) for pair in raw.split(b"&") if not _is_utf8(unquote_to_bytes(pair))
    )
    if broken:
        errors = [FieldError(name, f"{name}: must be UTF-8") for name in broken]
        raise BadRequest(errors[0].message, errors)


def refuse_misspelt(request: Request, names: Collection[str]) -> None:
    """Raise BadRequest for a parameter that is almost one of `names`.

    What nobody knows is ignored, so `?dryrun=true` would write.
    """
    if not request.query_params:
        return
    known = {_letters(name): name for name in names}
    for sent in request.query_params:
        meant = known.get(_letters(sent), sent)
        if meant != sent and sent not in names:
            name = sent[:_LONGEST_NAME]
            text = f"{name}: there is no such parameter: did you mean {meant}?"
            raise BadRequest.about(name, text)


def _letters(name: str) -> str:
    """Return what is left of a name when it is spelt as other services do."""
    return "".join(letter for letter in name.lower() if letter not in "-_[] .")


def once(request: Request, name: str) -> str | None:
    """Return a parameter, None when absent. Raises BadRequest when empty or repeated."""
    sent = request.query_params.getlist(name)
    if not sent:
        return None
    if len(sent) > 1 or not sent[0]:
        raise BadRequest(f"{name}: must be given once, with a value")
    return sent[0]


def _name(pair: bytes) -> str:
    name = unquote_to_bytes(pair.partition(b"=")[0].replace(b"+", b" "))
    return name.decode(errors="replace")[:_LONGEST_NAME]


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def required_text(request: Request, name: str) -> str:
    """Return a parameter that must be given. Raises BadRequest naming it."""
    text = request.query_params.get(name, "")
    if not text:
        raise BadRequest(f"the query parameter {name} is required")
    return text


def truth(request: Request, name: str, default: Absent) -> bool | Absent:
    """Return a boolean parameter, `default` when absent. Raises BadRequest."""
    text = request.query_params.get(name, "")
    if not text:
        return default
    if text not in _TRUTHS:
        raise BadRequest(f"{name}: {quoted(text)} is neither true nor false")
    return _TRUTHS[text]


def choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """Return one of `choices`, the first when absent. Raises BadRequest."""
    text = request.query_params.get(name, "") or choices[0]
    if text.lower() not in choices:
        raise BadRequest(f"{name}: {quoted(text)} is none of {', '.join(choices)}")
    return text.lower()
