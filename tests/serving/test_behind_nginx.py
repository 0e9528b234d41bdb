"""The shipped nginx in front: slow clients keep nobody waiting, refusals are read."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from http.client import HTTPConnection, HTTPResponse, parse_headers
from itertools import count
from typing import Final

import pytest

from tests.nginx import HOST, Proxied, proxying
from tests.servers import Server
from tests.serving.big_answers import SIZE
from tests.waiting import PATIENCE

# The server has a database of its own: one run of the suite is enough.
pytestmark = pytest.mark.sqlite

IDLE: Final = 2000
MANY_IDLE: Final = 10_000
LATER: Final = 1.0
"""Seconds from 429 to the next attempt, as its Retry-After says."""
SLOW: Final = 40
"""More than all workers have threads."""
READERS: Final = 8

ADDRESSES: Final = map("127.0.1.{}".format, count(1))


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """Yield nginx before a server of two workers with two threads each."""
    folder = tmp_path_factory.mktemp("nginx")
    server = Server(
        folder / "var",
        content="owner",
        DJANGO_SETTINGS_MODULE="tests.serving.big_answers",
        SVC_WORKERS="2",
        SVC_THREADS="2",
        SVC_ALLOWED_HOSTS=f"{HOST},127.0.0.1",
        SVC_TRUSTED_PROXIES="127.0.0.1",
    )
    apis = [f"127.0.0.1:{server.port}"]
    with server, proxying(folder, apis, server.token) as made:
        yield made


@pytest.fixture
def proxied(nginx: Proxied) -> Proxied:
    """Return nginx, asked from an address of which it has counted nothing yet."""
    return replace(nginx, source=next(ADDRESSES))


@contextmanager
def connections(
    proxied: Proxied, count: int, sent: bytes = b""
) -> Iterator[list[socket.socket]]:
    """Yield connections that have sent something, or have not even begun with TLS."""
    with ExitStack() as stack:
        opened: list[socket.socket] = []
        for _ in range(count):
            made = proxied.secure() if sent else proxied.plain()
            opened.append(stack.enter_context(made))
            if sent:
                made.sendall(sent)
        yield opened


def test_two_thousand_idle_connections_keep_nobody_waiting(proxied: Proxied):
    with connections(proxied, IDLE):
        proxied.assert_answers()


@pytest.fixture
def many_files() -> Iterator[None]:
    """Let this process open a file for each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < MANY_IDLE + 1000:
        pytest.skip(f"a process may open {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@pytest.mark.usefixtures("many_files")
def test_ten_thousand_idle_connections_keep_nobody_waiting(proxied: Proxied):
    with connections(proxied, MANY_IDLE):
        proxied.assert_answers()


@pytest.mark.slow
def test_idle_connections_are_closed(proxied: Proxied):
    with proxied.secure() as silent:
        assert silent.recv(1) == b""  # after client_header_timeout


def test_requests_without_tls_are_sent_to_tls(proxied: Proxied):
    with closing(HTTPConnection("127.0.0.1", proxied.plain_port, PATIENCE)) as client:
        client.request("POST", "/api/groups?a=1", b"{}", {"Host": "evil.example"})
        answer = client.getresponse()
        assert answer.status == 308
        assert answer.headers["Location"] == f"https://{HOST}/api/groups?a=1"


@pytest.mark.parametrize("start", ["GET /api/groups", "GET /nothing", "GET /metrics"])
def test_browsers_are_told_to_stay_with_tls(proxied: Proxied, start: str):
    _, headers, _ = proxied.headed(proxied.head(start))
    assert headers.get_all("Strict-Transport-Security") == ["max-age=31536000"]


def pipelined(proxied: Proxied, data: bytes, count: int) -> list[int]:
    """Send a request many times at once; return the status of each answer."""
    statuses = []
    with proxied.secure() as connection, connection.makefile("rb") as answers:
        connection.sendall(data * count)
        for _ in range(count):
            statuses.append(int(answers.readline().split()[1]))
            answers.read(int(parse_headers(answers)["Content-Length"]))
    return statuses


def test_one_address_cannot_send_requests_without_end(proxied: Proxied):
    begun = time.monotonic()
    statuses = pipelined(proxied, proxied.head("GET /nothing"), 900)
    assert set(statuses) <= {404, 429}
    room = 401 + 100 * (time.monotonic() - begun)
    assert statuses.count(404) <= room
    time.sleep(LATER)
    proxied.assert_answers()


def test_one_address_cannot_have_requests_without_end_answered(
    proxied: Proxied,
):
    half_body = proxied.head("POST /api/groups", "Content-Length: 100000") + b"{"
    with connections(proxied, 100, half_body):
        status, headers, _ = proxied.headed(proxied.head("GET /api/groups"))
        assert (status, headers["Retry-After"]) == (429, "1")


def test_slow_heads_and_bodies_keep_nobody_waiting(proxied: Proxied):
    half_head = proxied.head("GET /api/groups")[:-2]
    half_body = proxied.head("POST /api/groups", "Content-Length: 100000") + b"{"
    chunk = proxied.head("POST /api/groups", "Transfer-Encoding: chunked") + b"9\r\n{"
    with (
        connections(proxied, SLOW, half_head) as heads,
        connections(proxied, SLOW, half_body),
        connections(proxied, SLOW, chunk),
    ):
        proxied.assert_answers()
        heads[0].sendall(b"\r\n")
        assert heads[0].recv(12) == b"HTTP/1.1 200"


@pytest.mark.slow
def test_slow_readers_of_a_big_page_keep_nobody_waiting(proxied: Proxied):
    with connections(proxied, READERS, proxied.head("GET /big")) as readers:
        for reader in readers:
            assert reader.recv(12) == b"HTTP/1.1 200"
        proxied.assert_answers()
        # And who reads gets all of it.
        with proxied.secure() as reader:
            reader.sendall(proxied.head("GET /big"))
            answer = HTTPResponse(reader)
            answer.begin()
            assert len(answer.read()) == SIZE


@pytest.mark.parametrize(
    ("start", "token", "code"),
    [
        ("POST /api/groups", "", 413),
        ("POST /api/groups", "x", 401),
        ("POST /api/nothing", "", 404),
    ],
)
@pytest.mark.parametrize("chunked", [False, True])
def test_who_sends_too_much_reads_why_it_was_refused(
    proxied: Proxied, start: str, token: str, code: int, chunked: bool
):
    size = 6 * 2**20
    line = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {size}"
    head = proxied.head(start, line).replace(b"mpt_", b"mpt_" + token.encode())
    body = b"x" * size
    if chunked:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (size, body)
    status, answer = proxied.ask(head + body)
    assert (status, answer["code"]) == (code, code)


@pytest.mark.slow
def test_a_token_that_names_hundreds_of_groups_is_read(proxied: Proxied):
    head = b"GET /api/users/current HTTP/1.1\r\nHost: localhost\r\n"
    token = b"Authorization: Bearer %s\r\n\r\n" % (b"a" * 30_000)
    status, answer = proxied.ask(head + token)
    assert (status, answer["message"]) == (401, "token invalid")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GARBAGE\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: evil\x00\r\n\r\n", 400),
        (b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % (b"a" * 9000), 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n" % (b"a" * 33_000), 431),
        (b"POST /api/x HTTP/1.1\r\nHost: x\r\nContent-Length: 40000000\r\n\r\n", 413),
        (b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    ],
)
def test_what_nginx_refuses_has_the_form_of_the_api(
    proxied: Proxied, data: bytes, code: int
):
    status, answer = proxied.ask(data)
    assert (status, answer["code"]) == (code, code)
    assert answer["message"]
