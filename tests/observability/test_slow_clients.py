"""Clients that keep the server waiting: it answers the others, and gives up in time."""

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from time import monotonic
from typing import Final

import pytest

from observability.serving.clientsocket import LEAST_RATE, Allowance
from tests.observability.servers import PATIENCE, Reply, Server, until

# The servers have databases of their own: one run of the suite is enough.
pytestmark = pytest.mark.sqlite

INGEST: Final = "/api/events/proxy"
SLOW_CLIENTS: Final = 8
STATIC: Final = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


def head(*lines: str, start: str = f"POST {INGEST}") -> bytes:
    """Return the head of a request."""
    return "\r\n".join(
        (f"{start} HTTP/1.1", "Host: localhost", *lines, "", "")
    ).encode()


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server that waits for an hour, with fewer threads than there are clients."""
    folder = tmp_path_factory.mktemp("patient") / "var"
    with Server(folder, SVC_THREADS="2", SVC_STALL_SECONDS="3600") as started:
        yield started


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a server that hardly waits."""
    folder = tmp_path_factory.mktemp("hasty") / "var"
    with Server(folder, SVC_THREADS="2", SVC_STALL_SECONDS="1") as started:
        yield started


def credentials(server: Server) -> str:
    """Return the header line of a token that may do everything."""
    words = ("create_token", "--user", "owner@example.com", "--role", "owner")
    return f"Authorization: Token {server.manage(*words).stdout.strip()}"


@pytest.fixture(scope="module")
def patient_owner(patient: Server) -> str:
    return credentials(patient)


@pytest.fixture(scope="module")
def hasty_owner(hasty: Server) -> str:
    return credentials(hasty)


@contextmanager
def clients(server: Server, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Yield connections that have sent something and stay open."""
    with ExitStack() as stack:
        opened = []
        for _ in range(count):
            made = socket.create_connection(("127.0.0.1", server.port), PATIENCE)
            opened.append(stack.enter_context(made))
            made.sendall(sent)
        yield opened


def reply(client: socket.socket, method: str = "POST") -> Reply:
    """Read one answer."""
    response = http.client.HTTPResponse(client, method=method)
    response.begin()
    found = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, found, response.read())


def assert_alive(server: Server) -> None:
    for path in ("/livez", "/readyz", "/api/schema"):
        assert server.get(path).status == 200


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (["Content-Length: 100000"], 401),
        (["Transfer-Encoding: chunked"], 401),
        (["Content-Length: 40000000"], 401),
        (["Content-Length: 100000", "Authorization: Token wrong"], 401),
    ],
)
def test_slow_bodies_without_credentials_are_refused_at_once(
    patient: Server, lines: list[str], status: int
) -> None:
    with clients(patient, SLOW_CLIENTS, head(*lines) + b"[") as slow:
        assert_alive(patient)
        for client in slow:
            answer = reply(client)
            assert (answer.status, answer.json["code"]) == (status, status)
            assert answer.headers["connection"] == "close"


@pytest.mark.parametrize(
    ("start", "lines", "status"),
    [
        ("POST /api/nothing", ["Content-Length: 100000"], 404),
        ("PATCH /api/groups", ["Content-Length: 100000"], 405),
        (f"POST {INGEST}", ["Content-Length: 33554433"], 413),
        ("POST /api/groups", ["Content-Length: 10", "Content-Encoding: br"], 415),
    ],
)
def test_refused_requests_are_answered_before_their_bodies(
    patient: Server, patient_owner: str, start: str, lines: list[str], status: int
) -> None:
    sent = head(patient_owner, *lines, start=start)
    with clients(patient, SLOW_CLIENTS, sent) as slow:
        for client in slow:
            answer = reply(client)
            assert (answer.status, answer.json["code"]) == (status, status)
            assert answer.headers["connection"] == "close"
        assert_alive(patient)


def test_slow_uploads_leave_threads_for_others(
    patient: Server, patient_owner: str
) -> None:
    sent = head(patient_owner, "Content-Length: 100000") + b"["
    with clients(patient, SLOW_CLIENTS, sent):
        assert_alive(patient)
        # A body that comes after its head is small enough to be waited for elsewhere.
        late = head(patient_owner, "Content-Length: 21")
        with clients(patient, 1, late) as [client]:
            assert_alive(patient)
            client.sendall(b'[{"host": "a.example"')
            assert reply(client).status == 400


def test_uploads_beyond_the_lanes_are_taken_one_after_the_other(
    patient: Server, patient_owner: str
) -> None:
    body = json.dumps([{"id": "x", "host": "h"}]).encode() + b" " * 300_000
    sent = head(patient_owner, f"Content-Length: {len(body)}")
    with clients(patient, SLOW_CLIENTS, sent) as uploads:
        for client in reversed(uploads):
            client.sendall(body)
        answers = [reply(client) for client in uploads]
    assert [answer.status for answer in answers] == [200] * SLOW_CLIENTS
    assert sum(answer.json["accepted"] for answer in answers) == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r",
        head()[:-2] + b"X-Half: ",
        b"GET /livez",
        head("Connection: close", start="GET /livez"),
    ],
    ids=["nothing", "an end", "half a head", "half a line", "closing"],
)
def test_connections_that_do_nothing_more_keep_nobody_waiting(
    patient: Server, sent: bytes
) -> None:
    with clients(patient, SLOW_CLIENTS, sent):
        assert_alive(patient)


def assert_given_up(server: Server, answer: Reply) -> None:
    assert (answer.status, answer.json["code"]) == (408, 408)
    assert "in time" in answer.json["message"]
    assert answer.headers["connection"] == "close"
    wanted = {"request_id": answer.headers["x-request-id"], "status": 408}
    until(lambda: server.records(**wanted), "a line that says so")
    assert len(server.records(**wanted)) == 1


@pytest.mark.parametrize(
    "framing", ["Content-Length: 100000", "Transfer-Encoding: chunked"]
)
def test_a_body_that_does_not_come_is_408(
    hasty: Server, hasty_owner: str, framing: str
) -> None:
    with clients(hasty, 1, head(hasty_owner, framing) + b"1") as [client]:
        answer = reply(client)
        assert_given_up(hasty, answer)
        assert client.recv(1) == b""
    [line] = hasty.records(
        msg="HTTP response", request_id=answer.headers["x-request-id"]
    )
    assert line["endpoint"] == INGEST


def drip(client: socket.socket, byte: bytes) -> Reply:
    """Send one byte after the other until there is an answer; return it."""
    client.settimeout(0.05)

    def answered() -> bool:
        client.send(byte)
        try:
            return bool(client.recv(1, socket.MSG_PEEK))
        except TimeoutError:
            return False

    until(answered, "an answer to a drip of bytes")
    client.settimeout(PATIENCE)
    return reply(client)


def test_a_drip_of_bytes_does_not_put_the_end_off(
    hasty: Server, hasty_owner: str
) -> None:
    bodies = head(hasty_owner, "Content-Length: 100000"), head()[:-2] + b"X-Half: "
    for sent, byte in zip(bodies, (b" ", b"x"), strict=True):
        with clients(hasty, 1, sent) as [client]:
            assert_given_up(hasty, drip(client, byte))


def test_waiting_uses_an_allowance_up_and_bytes_earn_it_back() -> None:
    allowance = Allowance(10.0)
    allowance.charge(monotonic() - 8, LEAST_RATE)  # one second of the eight
    assert allowance.left == pytest.approx(3.0, abs=0.5)
    allowance.charge(monotonic(), 100 * LEAST_RATE)
    assert allowance.left == 10.0  # no more than in the beginning: a stall ends
    allowance.charge(monotonic() - 11, 1)
    with socket.socket() as client, pytest.raises(TimeoutError):
        allowance.begin(client)


def test_silent_connections_are_closed(hasty: Server) -> None:
    with clients(hasty, 1, b"") as [client]:
        assert client.recv(1) == b""


@contextmanager
def slow_readers(
    server: Server, count: int, sent: bytes
) -> Iterator[list[socket.socket]]:
    """Yield clients that have asked for more than the system holds for them."""
    with ExitStack() as stack:
        slow = []
        for _ in range(count):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(PATIENCE)
            client.connect(("127.0.0.1", server.port))
            client.sendall(sent)
            slow.append(client)
        yield slow


BIG: Final = head(start=f"GET {STATIC}")


def test_slow_readers_leave_threads_for_others_and_get_all_in_the_end(
    patient: Server,
) -> None:
    whole = patient.get(STATIC).body
    with slow_readers(patient, SLOW_CLIENTS, BIG * 2) as slow:
        assert_alive(patient)
        for client in slow[:2]:
            found = client.makefile("rb")
            for _ in range(2):
                while found.readline().strip():
                    pass
                assert found.read(len(whole)) == whole


def cut_off(server: Server) -> bool:
    return bool(server.records(logger="observability.serving.connections"))


def test_an_answer_that_is_not_read_is_cut_off(hasty: Server) -> None:
    with slow_readers(hasty, SLOW_CLIENTS, BIG * 4) as slow:
        assert_alive(hasty)
        until(lambda: cut_off(hasty), "a line about what was cut off")
        assert rest_of(slow[0]) < 4 * len(hasty.get(STATIC).body)


def rest_of(client: socket.socket) -> int:
    """Return how many bytes still come."""
    count = 0
    try:
        while data := client.recv(1 << 20):
            count += len(data)
    except ConnectionResetError:
        pass
    return count


def connection_to(server: Server) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)


@pytest.mark.parametrize("size", [32 * 2**20 + 1, 64 * 2**20])
def test_who_sends_too_much_reads_why_it_was_refused(
    patient: Server, patient_owner: str, size: int
) -> None:
    connection = connection_to(patient)
    name, _, value = patient_owner.partition(": ")
    connection.request("POST", INGEST, b" " * size, {name: value})
    answer = connection.getresponse()
    assert answer.status == 413
    assert json.loads(answer.read())["code"] == 413
    connection.close()


def test_a_refusal_of_a_whole_request_keeps_the_connection(patient: Server) -> None:
    with clients(patient, 1, head("Content-Length: 2") + b"[]") as [client]:
        answer = reply(client)
        assert (answer.status, answer.headers["connection"]) == (401, "keep-alive")
        client.sendall(head(start="GET /livez"))
        assert reply(client).status == 200


def test_requests_sent_at_once_are_answered_in_order(
    patient: Server, patient_owner: str
) -> None:
    body = b'[{"id": "pipelined", "host": "h"}]'
    upload = head(patient_owner, f"Content-Length: {len(body)}") + body
    get = head(start="GET /livez")
    with clients(patient, 1, get + upload + get + get[:20]) as [client]:
        found = client.makefile("rb")
        statuses = [_status(found.readline, found.read) for _ in range(3)]
        assert statuses == [200, 200, 200]
        client.sendall(get[20:])
        assert _status(found.readline, found.read) == 200


def _status(readline: Callable[[], bytes], read: Callable[[int], bytes]) -> int:
    """Read one answer from a file and return its status."""
    status = int(readline().split()[1])
    length = 0
    while line := readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    read(length)
    return status


def test_who_asks_before_sending_is_refused_without_an_invitation(
    patient: Server, patient_owner: str
) -> None:
    asks = ("Expect: 100-continue", "Content-Length: 2")
    with clients(patient, 1, head(*asks)) as [client]:
        assert client.makefile("rb").readline().startswith(b"HTTP/1.1 401 ")
    with clients(patient, 1, head(patient_owner, *asks)) as [client]:
        invitation = b"HTTP/1.1 100 Continue\r\n\r\n"
        assert client.recv(len(invitation), socket.MSG_WAITALL) == invitation
        client.sendall(b"[]")
        assert reply(client).status == 200
