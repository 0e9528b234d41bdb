"""Sockets of clients: what waiting for a client may cost is bounded."""

import errno
import socket
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any, Final

LEAST_RATE: Final = 16 * 1024
"""Bytes per second below which a client uses up its allowance."""
UNSENT_BYTES: Final = 64 * 1024 * 1024
"""Room of a worker for what slow readers have not taken in."""
UNSENT_OF_ONE: Final = 8 * 1024 * 1024
_PIECE: Final = 256 * 1024


class Allowance:
    """Seconds that may be spent on waiting; each byte earns some back, up to all."""

    def __init__(self, seconds: float) -> None:
        self.most = self.left = seconds

    def begin(self, client: socket.socket) -> float:
        """Let the next call on `client` take what is left; return the time."""
        if self.left <= 0:
            raise TimeoutError
        client.settimeout(self.left)
        return monotonic()

    def charge(self, begun: float, transferred: int) -> None:
        """Pay for a call since `begun`."""
        earned = transferred / LEAST_RATE
        self.left = min(self.most, self.left - (monotonic() - begun) + earned)


class AnswerRoom:
    """What a worker keeps of answers that clients have not taken in yet.

    Beyond the room a thread has to wait for its client, and only some may.
    """

    def __init__(self, waiting: int) -> None:
        self._lock = Lock()
        self._free = UNSENT_BYTES
        self.turns = BoundedSemaphore(waiting)

    def take(self, count: int) -> bool:
        """Return whether there is room for so many bytes, which are then taken."""
        with self._lock:
            if count > self._free:
                return False
            self._free -= count
            return True

    def give_back(self, count: int) -> None:
        """Free what was sent, or will never be."""
        with self._lock:
            self._free += count


class ClientSocket(socket.socket):
    """A socket whose blocking calls end when the client's allowance is used up.

    Only waiting counts, not what the server does in between. One byte at a time gains
    nothing: a stall lasts `seconds` at most, and a transfer `seconds` and what its bytes
    take at 16 KiB per second. What a client does not take in at once of an answer is
    kept in `unsent`, for the poller, while there is room.
    """

    def __init__(
        self, accepted: socket.socket, seconds: float, room: AnswerRoom
    ) -> None:
        family, kind, proto = accepted.family, accepted.type, accepted.proto
        super().__init__(family, kind, proto, fileno=accepted.detach())
        self.seconds = seconds
        self.stalled = False
        self.unsent = bytearray()
        self._room = room
        self._idle_since = 0.0
        self.renew()

    def renew(self) -> None:
        """Grant the allowances of a new request."""
        self._receiving = Allowance(self.seconds)
        self._sending = Allowance(self.seconds)

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        """Return what comes. Raises TimeoutError."""
        if self.gettimeout() == 0:
            return super().recv(size, flags)
        data = b""
        begun = self._receiving.begin(self)
        try:
            data = super().recv(size, flags)
        finally:
            self._receiving.charge(begun, len(data))
        return data

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send or keep everything. Raises ConnectionResetError for a slow reader."""
        if self.gettimeout() == 0:
            super().sendall(data, flags)
            return
        rest = memoryview(data)
        self._idle_since = monotonic()  # what the server did till now took it no time
        self.setblocking(False)
        try:
            if not self.unsent or self.flush():
                rest = rest[self._send_now(rest) :]
        finally:
            self.setblocking(True)
        fits = len(self.unsent) + len(rest) <= UNSENT_OF_ONE
        if fits and self._room.take(len(rest)):
            self.unsent += rest
        else:
            self._send_waiting(rest)

    def flush(self) -> bool:
        """Send of `unsent` what can be sent now; return whether that was all."""
        sent = self._send_now(memoryview(bytes(self.unsent[:_PIECE])))
        self._sending.charge(self._idle_since, sent)
        self._idle_since = monotonic()
        self._forget(sent)
        return not self.unsent

    @property
    def is_late(self) -> bool:
        """Whether the client has not taken `unsent` in for too long."""
        return monotonic() - self._idle_since > self._sending.left

    def close(self) -> None:
        """Close; what is unsent stays so."""
        self._forget(len(self.unsent))
        super().close()

    def _forget(self, count: int) -> None:
        del self.unsent[:count]
        self._room.give_back(count)

    def _send_now(self, data: memoryview) -> int:
        """Return how much of the data the system takes at once."""
        sent = 0
        try:
            while sent < len(data):
                sent += self.send(data[sent : sent + _PIECE])
        except BlockingIOError:
            pass
        return sent

    def _send_waiting(self, rest: memoryview) -> None:
        """Send everything, waiting for the client, if this thread may wait."""
        may_wait = self._room.turns.acquire(blocking=False)
        try:
            if not may_wait:
                raise TimeoutError
            while self.unsent:
                self._forget(self._send_some(memoryview(bytes(self.unsent[:_PIECE]))))
            while rest:
                rest = rest[self._send_some(rest[:_PIECE]) :]
        except TimeoutError as error:
            self.stalled = True
            # gunicorn takes this one calmly: the client is as good as gone.
            text = "the answer is read too slowly"
            raise ConnectionResetError(errno.ECONNRESET, text) from error
        finally:
            if may_wait:
                self._room.turns.release()

    def _send_some(self, data: memoryview) -> int:
        sent = 0
        begun = self._sending.begin(self)
        try:
            sent = self.send(data)
        finally:
            self._sending.charge(begun, sent)
        return sent

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """Send `count` bytes of a file, or all, within the limits of `sendall`."""
        file.seek(offset)
        sent = 0
        while count is None or sent < count:
            piece = file.read(_PIECE if count is None else min(_PIECE, count - sent))
            if not piece:
                break
            self.sendall(piece)
            sent += len(piece)
        return sent
