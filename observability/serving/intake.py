"""A threaded worker whose threads never wait for the head of a request.

Heads are collected by the poller, and small bodies with them. A request whose body is
still under way gets one of few lanes, so that slow uploads leave threads for others.
"""

import errno
import selectors
from functools import partial
from time import monotonic
from typing import Any, Final

from gunicorn.http import errors
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from meshmgmt import env
from observability.serving.clientsocket import AnswerRoom, ClientSocket
from observability.serving.connections import HEAD_BYTES, Arrival, Connection
from observability.serving.lingering import Lingering
from observability.serving.requestbody import Application, RequestBody, settling

_NOT_NOW: Final = frozenset({errno.EAGAIN, errno.ECONNABORTED, errno.EWOULDBLOCK})
_LANE_SHARE: Final = 4
_PROMPT_SECONDS: Final = 1.0


class HeadTimeout(Exception):
    """The head of a request did not come in time."""


def _too_long(head: bytearray) -> Exception:
    error: Exception = errors.LimitRequestLine(len(head), HEAD_BYTES)
    if b"\r\n" in head:
        error = errors.LimitRequestHeaders("the head has no end within its limit")
    return error


class PatientWorker(ThreadWorker):  # type: ignore[misc]
    """Waits for clients without threads, and for a bounded time.

    Connections with TLS of its own (`gunicorn --certfile`) are served as gunicorn does.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seconds = env.load().stall_seconds
        threads = self.cfg.threads
        self.lanes = max(1, threads - max(1, threads // _LANE_SHARE))
        self.uploads = 0
        # Both in the order of arrival, which is that of the deadlines.
        self.headless: dict[Connection, None] = {}
        self.queued: dict[Connection, None] = {}
        # Answered, with what the thread returned; the clients have not read it all.
        self.draining: dict[Connection, Any] = {}
        self.room = AnswerRoom(self.lanes)
        self.stops_at = 0.0
        self.lingering: Lingering

    def load_wsgi(self) -> None:
        """Load the application; bodies are settled before its answers."""
        super().load_wsgi()
        self.wsgi: Application = settling(self.wsgi)

    def run(self) -> None:
        """Serve until told to stop."""
        self.lingering = Lingering(self.poller)
        super().run()

    def accept(self, listener: Any) -> None:
        """Take a connection in; the longest silent one makes room when there is none."""
        if self.cfg.is_ssl:
            super().accept(listener)
            return
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in _NOT_NOW:
                return
            raise
        self.nr_conns += 1
        if self.nr_conns >= self.worker_connections:
            self._make_room()
        limited = ClientSocket(client, self.seconds, self.room)
        at = listener.getsockname()
        self.enqueue_req(Connection(self.cfg, limited, address, at, self.lingering.add))

    def _make_room(self) -> None:
        silent = next(iter(self.headless), None)
        if silent and silent.deadline - monotonic() < self.seconds - _PROMPT_SECONDS:
            self._drop(silent)

    def enqueue_req(self, conn: Any) -> None:
        """Collect the next request of a connection, then let a thread answer it."""
        if not isinstance(conn, Connection):
            super().enqueue_req(conn)
            return
        conn.expect(monotonic() + self.seconds)
        self.headless[conn] = None
        self._collect(conn)

    def _readable(self, conn: Connection, _client: Any) -> None:
        if conn.polled:  # else something else of this round has dealt with it
            self._collect(conn)

    def _collect(self, conn: Connection) -> None:
        """Take in what has come, and do what it allows."""
        try:
            arrival = conn.collect()
        except OSError:
            arrival = Arrival.GONE
        if arrival is Arrival.GONE:
            self._drop(conn)
        elif arrival is Arrival.OVERLONG:
            self._refuse(conn, _too_long(conn.received))
        elif arrival is Arrival.HEAD:
            self._poll(conn, wanted=True)
        elif arrival is Arrival.COMPLETE:
            self._hand_on(conn)
        elif self.uploads < self.lanes:
            self._hand_on(conn, uploading=True)
        else:
            self.headless.pop(conn, None)
            self.queued[conn] = None
            self._poll(conn, wanted=conn.may_prefetch)

    def _poll(self, conn: Connection, *, wanted: bool) -> None:
        if wanted and not conn.polled:
            readable = partial(self._readable, conn)
            self.poller.register(conn.sock, selectors.EVENT_READ, readable)
        elif conn.polled and not wanted:
            self.poller.unregister(conn.sock)
        conn.polled = wanted

    def _forget(self, conn: Connection) -> None:
        self._poll(conn, wanted=False)
        self.headless.pop(conn, None)
        self.queued.pop(conn, None)

    def _hand_on(self, conn: Connection, *, uploading: bool = False) -> None:
        self._forget(conn)
        conn.uploading = uploading
        self.uploads += uploading
        super().enqueue_req(conn)

    def _drop(self, conn: Connection) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        conn.close()

    def _refuse(self, conn: Connection, error: Exception) -> None:
        """Answer a request that no thread will see."""
        self._forget(conn)
        self.nr_conns -= 1
        self.handle_error(None, conn.sock, conn.client, error)
        conn.close(graceful=True)

    def handle(self, conn: Any) -> Any:
        """Answer a request, in a thread."""
        if isinstance(conn, Connection):
            conn.hand_over()
        return super().handle(conn)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Answer a parsed request; its body is whole, or reading it fails."""
        req.body = RequestBody(req, conn.sock)
        return super().handle_request(req, conn)

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Keep the connection or close it; an upload leaves its lane."""
        if isinstance(conn, Connection) and conn.uploading:
            conn.uploading = False
            self.uploads -= 1
        if isinstance(conn, Connection) and conn.sock.unsent and not conn.sock.stalled:
            self._drain(conn, fs)
        else:
            super().finish_request(conn, fs)
        while self.queued and self.uploads < self.lanes:
            # Who sent most comes first: a drip of bytes does not hold up the others.
            first = max(self.queued, key=lambda waiting: len(waiting.received))
            self._hand_on(first, uploading=True)

    def _drain(self, conn: Connection, fs: Any) -> None:
        """Let the poller send the rest of an answer, then finish the request."""
        conn.sock.setblocking(False)
        writable = partial(self._writable, conn)
        self.poller.register(conn.sock, selectors.EVENT_WRITE, writable)
        self.draining[conn] = fs

    def _writable(self, conn: Connection, _client: Any) -> None:
        if conn not in self.draining:  # given up in this round
            return
        try:
            if conn.sock.flush():
                self.poller.unregister(conn.sock)
                super().finish_request(conn, self.draining.pop(conn))
        except OSError:
            self._abandon(conn)

    def _abandon(self, conn: Connection) -> None:
        """Give up a client that does not read its answer."""
        del self.draining[conn]
        self.poller.unregister(conn.sock)
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        """Give up those who let the worker wait too long; called every second."""
        super().murder_pending()
        self.lingering.close_expired()
        for conn in [conn for conn in self.draining if conn.sock.is_late]:
            conn.sock.stalled = True
            self._abandon(conn)
        now = monotonic()
        if not self.alive:
            for conn in self.headless:
                conn.deadline = min(conn.deadline, self._stop_deadline(now))
        while self.headless:
            conn = next(iter(self.headless))
            if conn.deadline > now:
                break
            if conn.received:
                self._refuse(conn, HeadTimeout("the head did not come in time"))
            else:
                self._drop(conn)

    def _stop_deadline(self, now: float) -> float:
        """Return until when a stopping worker waits for requests."""
        if not self.stops_at:
            self.stops_at = now + STOP_KEEPALIVE_LINGER
        return self.stops_at
