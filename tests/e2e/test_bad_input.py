"""Bad requests over a real connection: clear JSON errors, nothing written, no event."""

import gzip
import http.client
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pytest
import zstandard

from tests.servers import Server
from tests.wire import Reply, request

UNKNOWN_ID: Final = "0" * 20
NAMESERVERS: Final = "/api/dns/nameservers"


@dataclass
class Wire:
    """Sends requests to the server, well-formed or not."""

    port: int
    token: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send one well-formed HTTP request."""
        sent = {"Authorization": f"Token {self.token}", **headers}
        return request(self.port, path, method, body, **sent)

    def send(self, text: bytes) -> Reply:
        """Send bytes as they are, say that there are no more, and read the answer."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            response = http.client.HTTPResponse(connection)
            response.begin()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """Return the head of a request with our token."""
        shown = "".join(f"{line}\r\n" for line in lines)
        return (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Token {self.token}\r\n{shown}\r\n"
        ).encode()


@pytest.fixture(scope="session")
def wire(server: Server) -> Wire:
    """Return a client that acts as the owner."""
    return Wire(server.port, server.token)


def state(wire: Wire) -> list[Any]:
    """Return what the API shows of everything but events."""
    paths = ("/api/groups", NAMESERVERS, "/api/dns/settings", "/api/dns/zones")
    return [wire.call("GET", path).json for path in paths]


def newest_event(wire: Wire) -> Any:
    """Return the last thing that happened."""
    return wire.call("GET", "/api/events/audit").json[0]


@pytest.fixture(scope="module")
def untouched(wire: Wire) -> Iterator[None]:
    """Hold the state to be the same before and after all."""
    before = state(wire)
    yield
    assert state(wire) == before


@pytest.fixture(autouse=True)
def nothing_happens(wire: Wire, untouched: None) -> Iterator[None]:
    """Hold the test to cause no event: every change has one.

    Between two tests of this module those of others may cause some on the same server.
    """
    before = newest_event(wire)
    yield
    assert newest_event(wire) == before


def assert_error(answer: Reply, status: int) -> None:
    """Check that this is our one error body with the status, and an id to ask for."""
    assert answer.status == status, answer.body[:300]
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json["code"] == status
    assert answer.json["message"]
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"{",
        b'{"name": }',
        b'{"name": "x",}',
        b"{'name': 'x'}",
        b'{"name": "x"} {"name": "y"}',
        b"[]",
        b'[{"name": "x"}]',
        b'"name"',
        b"17",
        b"null",
        b"NaN",
        b'{"name": "\xff\xfe"}',
        b'{"name": "\x00"}',
        b'{"name": "\\ud800"}',
        b"\x00\x01\x02",
        b'\xff\xfe{\x00"\x00',
        b'{"name": ' * 5000,
        b"[" * 100_000,
        b'{"name": "x", "peers": ' + b"[" * 70 + b"]" * 70 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_json_object_is_refused(wire: Wire, body: bytes):
    assert_error(wire.call("POST", "/api/groups", body), 400)


def test_an_announced_length_beyond_the_limit_is_refused_unread(wire: Wire):
    head = wire.head("POST", "/api/groups", f"Content-Length: {10**12}")
    assert_error(wire.send(head), 413)


def test_a_valid_chunked_body_is_read(wire: Wire):
    # Refused by a rule, not by its form: the chunks were put together.
    pieces = iter([b'{"name"', b": ", b'"  "', b"}"])
    answer = wire.call("POST", "/api/groups", pieces)
    assert_error(answer, 422)
    assert answer.json["errors"][0]["field"] == "name"


@pytest.mark.parametrize(
    "chunks",
    [
        b"zz\r\n{}\r\n0\r\n\r\n",
        b'10\r\n{"name":',
        b'5\r\n{"name": "broken"}\r\n0\r\n\r\n',
        b"-1\r\n{}\r\n0\r\n\r\n",
        b"",
    ],
)
def test_broken_chunks_are_400(wire: Wire, chunks: bytes):
    head = wire.head("POST", "/api/groups", "Transfer-Encoding: chunked")
    assert_error(wire.send(head + chunks), 400)


ENTRY: Final = b'{"id": "cut-off", "host": "cut.example"}\n'
GZIPPED, ZSTD = gzip.compress(ENTRY, mtime=0), zstandard.compress(ENTRY)
NO_ENCODING: Final = "Accept: */*"


def framed(wire: Wire, method: str, path: str, sent: bytes, *lines: str) -> list[bytes]:
    """Return requests whose body is longer than what is sent of it."""
    announced = wire.head(method, path, *lines, f"Content-Length: {len(sent) + 50}")
    chunked = wire.head(method, path, *lines, "Transfer-Encoding: chunked")
    return [announced + sent, chunked + b"%x\r\n%s\r\n" % (len(sent), sent)]


@pytest.mark.parametrize(
    ("method", "path", "sent", "line"),
    [
        ("POST", "/api/groups", b'{"name": "cut', NO_ENCODING),
        ("POST", "/api/groups", b'{"name": "cut-off"}', NO_ENCODING),
        ("PUT", "/api/dns/settings", b'{"items": {}}', NO_ENCODING),
        ("POST", "/api/events/proxy", ENTRY * 3, NO_ENCODING),
        ("POST", "/api/events/network-traffic", b"[]", NO_ENCODING),
        ("POST", "/api/events/proxy", GZIPPED, "Content-Encoding: gzip"),
        ("POST", "/api/events/proxy", ZSTD, "Content-Encoding: zstd"),
        ("PUT", f"/api/dns/zones/{UNKNOWN_ID}/zonefile", b"; cut\n", NO_ENCODING),
    ],
)
def test_a_body_that_ends_early_is_400_though_what_came_is_valid(
    wire: Wire, method: str, path: str, sent: bytes, line: str
):
    for text in framed(wire, method, path, sent, line):
        answer = wire.send(text)
        assert_error(answer, 400)
        assert "the body ended early" in answer.json["message"]
    assert wire.call("GET", "/api/events/proxy?host=cut.example").json["data"] == []


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Encoding": "br"}, 415),
        ({"Content-Encoding": "gzip"}, 400),
        ({"Content-Encoding": "zstd"}, 400),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
    ],
)
def test_encodings_that_are_not_read(wire: Wire, headers: dict[str, str], status: int):
    body = b'{"name": "x"}'
    assert_error(wire.call("POST", "/api/groups", body, **headers), status)


@pytest.mark.parametrize(
    ("start", "length"),
    [
        *(("/api/groups/", length) for length in (4097, 5000, 8200, 100_000)),
        *(("/api/groups?name=", length) for length in (8193, 100_000)),
    ],
)
def test_an_overlong_path_or_query_is_414(wire: Wire, start: str, length: int):
    assert_error(wire.call("GET", start + "x" * length), 414)


def test_head_answers_as_get_without_a_body(wire: Wire):
    head, get = wire.call("HEAD", "/api/groups"), wire.call("GET", "/api/groups")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(get.body))
    assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (None, "no valid authentication provided"),
        ("Token \xff\xfe", "token invalid"),
    ],
)
def test_foreign_credentials_are_401(wire: Wire, header: str | None, message: str):
    lines = () if header is None else (f"Authorization: {header}",)
    text = "".join(f"{line}\r\n" for line in ("Host: 127.0.0.1", *lines))
    for method, path in (("GET", "/api/groups"), ("DELETE", "/api/groups/x")):
        request = f"{method} {path} HTTP/1.1\r\n{text}\r\n".encode("latin-1")
        answer = wire.send(request)
        assert_error(answer, 401)
        assert message in answer.json["message"]
        assert answer.headers["www-authenticate"]
