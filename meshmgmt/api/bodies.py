"""Request bodies: bounded, chunked or not, decompressed, and read as strict JSON."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from typing import IO, Any, Final

import orjson
import zstandard
from django.http import HttpRequest
from gunicorn.http.errors import ParseException
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from meshmgmt.core.errors import BadRequest, PayloadTooLarge, UnsupportedMedia

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
