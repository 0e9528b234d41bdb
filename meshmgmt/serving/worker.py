"""gunicorn's gthread worker, with threads for probes alone.

Whatever keeps the threads of requests (a database that is silent, for one), whoever asks
whether this process lives is answered. And a connection gets a thread when it has sent
something, so silent ones keep none.
"""

import re
import selectors
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from gunicorn.workers.gthread import ThreadWorker

PROBES: Final = ("/livez", "/readyz", "/metrics")
_HEAD: Final = re.compile(rb"(?:GET|HEAD) ([^ ?]+)[^ ]* HTTP/1\.[01]\r\n")
_BODY: Final = re.compile(
    rb"\r\n(?:content-length|transfer-encoding|expect):", re.IGNORECASE
)
_LONGEST_HEAD: Final = 8192


class Worker(ThreadWorker):  # type: ignore[misc]
    """Answers each kind of probe from a thread of its own."""

    def init_process(self) -> None:
        """Make the threads, then serve; blocks."""
        self.probes = {path: ThreadPoolExecutor(1, path[1:]) for path in PROBES}
        super().init_process()

    def enqueue_req(self, conn: Any) -> None:
        """Let a connection wait until it says something, and then have it answered."""
        sent = _sent(conn.sock)
        if sent is None and not conn.initialized and not conn.data_ready:
            self._await_data(conn)
            return
        pool: Any = self.probes.get(_probed(sent or b""), self.tpool)
        pool.submit(self.handle, conn).add_done_callback(
            lambda done: self.method_queue.defer(self.finish_request, conn, done)
        )

    def _await_data(self, conn: Any) -> None:
        """Put aside who has sent nothing yet, as gunicorn does after five seconds."""
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, readable)


def _sent(sock: Any) -> bytes | None:
    """Return what waits to be read (b"" at the end of it), None when nothing does."""
    # Peeked at, not read: gunicorn's parser begins with the same bytes.
    try:
        return bytes(sock.recv(_LONGEST_HEAD, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _probed(sent: bytes) -> str:
    """Return the path of a whole request without a body, "" for anything else.

    Who sends half a head must not keep the thread of a probe.
    """
    if not sent.endswith(b"\r\n\r\n") or _BODY.search(sent):
        return ""
    match = _HEAD.match(sent)
    return match[1].decode("latin-1") if match else ""
