"""Reading request bodies: limits, chunks, compression."""

import gzip
import io
import itertools
import zlib
from collections.abc import Callable

import pytest
import zstandard
from django.core.handlers.wsgi import WSGIRequest
from django.test import RequestFactory
from hypothesis import example, given
from hypothesis import strategies as st

from meshmgmt.api.requests import discard_rest, read_body
from meshmgmt.core.errors import BadRequest, PayloadTooLarge, UnsupportedMedia

LIMIT = 100_000


def request(body: bytes, encoding: str = "") -> WSGIRequest:
    headers = {"Content-Encoding": encoding} if encoding else {}
    return RequestFactory().generic("POST", "/api/x", body, headers=headers)


def chunked(body: bytes) -> WSGIRequest:
    made = request(b"")
    environ = {k: v for k, v in made.environ.items() if k != "CONTENT_LENGTH"}
    environ["HTTP_TRANSFER_ENCODING"] = "chunked"
    environ["wsgi.input"] = io.BytesIO(body)
    return WSGIRequest(environ)


def test_plain_body_is_returned():
    assert read_body(request(b"abc"), LIMIT) == b"abc"


def test_chunked_body_without_length_is_read_up_to_the_limit():
    assert read_body(chunked(b"x" * 70_000), LIMIT) == b"x" * 70_000
    with pytest.raises(PayloadTooLarge, match="100000 bytes"):
        read_body(chunked(b"x" * (LIMIT + 1)), LIMIT)


def test_body_of_exactly_the_limit_is_read():
    assert len(read_body(request(b"x" * LIMIT), LIMIT)) == LIMIT


def test_announced_length_over_the_limit_is_refused_before_reading():
    made = request(b"x" * (LIMIT + 1))
    with pytest.raises(PayloadTooLarge):
        read_body(made, LIMIT)
    assert made.environ["wsgi.input"].read(1) == b"x"


@given(st.binary(max_size=5000))
def test_compressed_bodies_come_back_whole(body: bytes):
    assert read_body(request(gzip.compress(body), "gzip"), LIMIT) == body
    packed = zstandard.ZstdCompressor().compress(body)
    assert read_body(request(packed, "zstd"), LIMIT) == body


MEMBERS = st.tuples(st.binary(max_size=3000), st.integers(0, 9000))


@given(st.lists(MEMBERS, min_size=1, max_size=6))
@example([(b"one", 0), (b"two", 0)])
@example([(b"one", 1)])
@example([(b"one", 512)])
@example([(b"one", 70_000)])
@example([(b"one", 1), (b"two", 0)])
@example([(b"one", 512), (b"two", 0)])
@example([(b"one", 70_000), (b"two", 0)])
def test_gzip_members_are_joined_whatever_zero_bytes_follow_them(
    members: list[tuple[bytes, int]],
):
    packed = b"".join(gzip.compress(part) + b"\0" * more for part, more in members)
    whole = b"".join(part for part, _ in members)
    assert read_body(request(packed, "gzip"), LIMIT) == whole


@pytest.mark.parametrize("encoding", ["", "gzip", "zstd"])
def test_a_body_shorter_than_announced_is_refused(encoding: str):
    packed = {"gzip": gzip.compress(b"abc"), "zstd": zstandard.compress(b"abc")}
    body = packed.get(encoding, b"abc")
    made = request(body, encoding)
    made.environ["CONTENT_LENGTH"] = str(len(body) + 1)
    made.environ["wsgi.input"] = io.BytesIO(body)
    with pytest.raises(BadRequest, match="the body ended early"):
        read_body(WSGIRequest(made.environ), LIMIT)


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [("gzip", gzip.compress), ("zstd", zstandard.compress)],
)
def test_compression_bomb_is_refused_in_bounded_memory(
    encoding: str, compress: Callable[[bytes], bytes]
):
    packed = compress(b"\0" * 50_000_000)
    assert len(packed) < LIMIT
    with pytest.raises(PayloadTooLarge):
        read_body(request(packed, encoding), LIMIT)


ONE = gzip.compress(b"one")
SUMMED = zstandard.ZstdCompressor(write_checksum=True).compress(b"abc" * 1000)


@pytest.mark.parametrize(
    ("body", "encoding", "error", "words"),
    [
        (gzip.compress(b"abc" * 100)[:-9], "gzip", BadRequest, "truncated"),
        (SUMMED[:-3], "zstd", BadRequest, "zstd"),
        (b"garbage" * 9, "gzip", BadRequest, "not valid"),
        (b"garbage" * 9, "zstd", BadRequest, "not valid"),
        (ONE + b"garbage", "gzip", BadRequest, "gzip"),
        (ONE + b"\0\0garbage", "gzip", BadRequest, "gzip"),
        (ONE + gzip.compress(b"two")[:-3], "gzip", BadRequest, "gzip"),
        (zlib.compress(b"x"), "br", UnsupportedMedia, "'br'"),
    ],
    ids=itertools.count(),  # gzip holds the clock, and names of tests must not
)
def test_broken_compression_is_refused(
    body: bytes, encoding: str, error: type[Exception], words: str
):
    with pytest.raises(error, match=words):
        read_body(request(body, encoding), LIMIT)


def test_what_nobody_read_of_a_body_is_discarded():
    sized = request(b"x" * 300_000)
    sized.environ["wsgi.input"] = io.BytesIO(b"x" * 300_000)
    for made in (WSGIRequest(sized.environ), chunked(b"x" * 300_000)):
        discard_rest(made)
        assert made.environ["wsgi.input"].read(1) == b""


def test_an_endless_body_is_not_waited_for():
    made = request(b"x")
    made.environ["CONTENT_LENGTH"] = made.META["CONTENT_LENGTH"] = str(10**12)
    discard_rest(made)
    assert made.environ["wsgi.input"].read(1) == b"x"
