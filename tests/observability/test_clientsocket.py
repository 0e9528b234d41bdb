"""Sockets of clients that read slowly: what is kept for them, and who waits."""

import socket
from collections.abc import Iterator
from threading import Thread

import pytest

from observability.serving.clientsocket import (
    UNSENT_BYTES,
    UNSENT_OF_ONE,
    AnswerRoom,
    ClientSocket,
)

pytestmark = pytest.mark.sqlite

ANSWER = bytes(range(256)) * 8192


@pytest.fixture
def room() -> AnswerRoom:
    return AnswerRoom(waiting=1)


@pytest.fixture
def peers(room: AnswerRoom) -> Iterator[tuple[ClientSocket, socket.socket]]:
    """Yield the server's and the client's end of a connection."""
    ours, theirs = socket.socketpair()
    client = ClientSocket(ours, 60.0, room)
    with client, theirs:
        yield client, theirs


def read(theirs: socket.socket, count: int) -> bytes:
    return theirs.recv(count, socket.MSG_WAITALL)


def test_what_is_not_read_at_once_is_kept_and_sent_later_in_order(
    peers: tuple[ClientSocket, socket.socket], room: AnswerRoom
) -> None:
    client, theirs = peers
    client.sendall(ANSWER)
    client.sendall(b"the end")
    assert client.unsent.endswith(b"the end")
    assert not room.take(UNSENT_BYTES)
    received = bytearray()
    client.setblocking(False)
    while not client.flush():
        received += theirs.recv(1 << 20)
    received += read(theirs, len(ANSWER) + 7 - len(received))
    assert received == ANSWER + b"the end"
    assert room.take(UNSENT_BYTES)


def test_what_was_kept_goes_out_with_the_next_piece(
    peers: tuple[ClientSocket, socket.socket],
) -> None:
    client, theirs = peers
    client.sendall(ANSWER)
    received = bytearray(read(theirs, len(ANSWER) - len(client.unsent)))
    while client.unsent:
        client.sendall(b"more")
        received += theirs.recv(1 << 20)
    assert received.startswith(ANSWER + b"more")


def test_closing_gives_the_room_back(
    peers: tuple[ClientSocket, socket.socket], room: AnswerRoom
) -> None:
    client, _ = peers
    client.sendall(ANSWER)
    assert not room.take(UNSENT_BYTES)
    client.close()
    client.close()
    assert room.take(UNSENT_BYTES)
    assert not room.take(1)


def test_a_thread_waits_for_the_reader_of_more_than_is_kept(
    peers: tuple[ClientSocket, socket.socket], room: AnswerRoom
) -> None:
    client, theirs = peers
    pieces = UNSENT_OF_ONE // len(ANSWER) + 2
    received: list[bytes] = []
    reader = Thread(target=lambda: received.append(read(theirs, len(ANSWER) * pieces)))
    client.sendall(ANSWER)
    assert client.unsent
    reader.start()
    for _ in range(pieces - 1):
        client.sendall(ANSWER)
    while not client.flush():
        pass
    reader.join()
    assert received == [ANSWER * pieces]
    assert room.take(UNSENT_BYTES)


def test_without_room_and_without_a_turn_to_wait_the_answer_is_cut_off(
    peers: tuple[ClientSocket, socket.socket], room: AnswerRoom
) -> None:
    client, _ = peers
    assert room.take(UNSENT_BYTES)
    assert room.turns.acquire(blocking=False)
    client.sendall(b"what fits is sent")
    with pytest.raises(ConnectionResetError, match="too slowly"):
        client.sendall(ANSWER)
    assert client.stalled


def test_who_waits_for_a_reader_gives_up_in_time(room: AnswerRoom) -> None:
    ours, theirs = socket.socketpair()
    assert room.take(UNSENT_BYTES)
    with ClientSocket(ours, 0.05, room) as client, theirs:
        with pytest.raises(ConnectionResetError, match="too slowly"):
            client.sendall(ANSWER)
        assert client.stalled
    assert room.turns.acquire(blocking=False)
