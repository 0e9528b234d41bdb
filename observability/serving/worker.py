"""gunicorn's threaded worker, with our error body for requests it cannot read."""

import json
import os
from http import HTTPStatus
from types import FrameType
from typing import Any, Final

from gunicorn.http import errors
from gunicorn.util import write_nonblock

from meshmgmt.core.ids import new_id
from observability import logs
from observability.serving.intake import HeadTimeout, PatientWorker

_ANSWERS: Final[tuple[tuple[type[Exception], int, str], ...]] = (
    (HeadTimeout, 408, "the head of the request did not come in time"),
    (errors.LimitRequestLine, 414, "the address of the request is too long"),
    (errors.LimitRequestHeaders, 431, "the headers of the request are too long"),
    (errors.ExpectationFailed, 417, "the Expect header asks for what is not offered"),
    (errors.UnsupportedTransferCoding, 501, "this Transfer-Encoding is not supported"),
    (errors.ForbiddenProxyRequest, 403, "this proxy is not trusted"),
    (errors.ConfigurationProblem, 500, "an internal error occurred; it was logged"),
    (errors.ParseException, 400, "the request is not valid HTTP"),
)


def answer_to(error: Exception) -> tuple[int, str]:
    """Return status and sentence for what went wrong before a view was found."""
    for kind, status, sentence in _ANSWERS:
        if isinstance(error, kind):
            return status, sentence
    return 500, "an internal error occurred; it was logged"


class JsonErrorWorker(PatientWorker):
    """Answers unreadable requests with `{"message", "code"}` and logs them."""

    _orphaned = False

    def leave(self) -> None:
        """Let the main thread close the listeners, and end after the running requests.

        For a worker whose master is dead, so that another server can have the port.
        """
        self.method_queue.defer(self._leave)

    def _leave(self) -> None:
        self.set_accept_enabled(False)
        self.alive = False
        self._orphaned = True
        for listener in self.sockets:
            listener.close()

    def accept(self, listener: Any) -> None:
        """Accept, unless the listener was closed in the same round of the poller."""
        if not self._orphaned:
            super().accept(listener)

    def handle_quit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at once, as QUIT asks.

        gunicorn's own shuts its thread pool down in the signal handler: when the signal
        comes while a request is handed to the pool, that waits for ever for a lock the
        interrupted code holds. Nothing here needs an orderly exit but the log: figures
        are in files.
        """
        del sig, frame
        self.alive = False
        logs.flush()
        os._exit(0)

    def handle_error(self, req: Any, client: Any, addr: Any, exc: Exception) -> None:
        """Log what went wrong and answer on the raw socket."""
        status, sentence = answer_to(exc)
        request_id = new_id()
        facts = {
            "request_id": request_id,
            "status": status,
            "source": addr[0] if isinstance(addr, tuple) and addr else "",
        }
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error("request failed: %s", exc, exc_info=exc, extra=facts)
        else:
            self.log.warning("request refused: %s", exc, extra=facts)
        body = json.dumps({"message": sentence, "code": status}).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            "Connection: close\r\n"
            "Content-Type: application/json\r\n"
            f"X-Request-Id: {request_id}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        try:
            write_nonblock(client, head.encode("latin-1") + body)
        except OSError:
            self.log.debug("the client of a refused request was gone")
