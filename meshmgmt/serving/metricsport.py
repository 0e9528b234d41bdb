"""The metrics port: `/metrics` in a plain HTTP server of its own."""

import logging
import socket
import socketserver
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from meshmgmt.api.exceptions import error_body
from meshmgmt.api.renderers import to_json
from meshmgmt.env import Config
from observability.metrics.exposition import CONTENT_TYPE

MOST_CALLERS: Final = 64
"""At once; each has a thread."""
ASKING_SECONDS: Final = 10.0
"""A caller that has not asked by then, silent or slow, leaves its place."""

_LOG: Final = logging.getLogger(__name__)


class PortTaken(Exception):
    """The port that was asked for cannot be had."""


def address(config: Config) -> tuple[str, int] | None:
    """Return host and port of the metrics port, None when it is off."""
    if config.metrics_port is None:
        return None
    is_file = config.bind.startswith("unix:")
    beside = "127.0.0.1" if is_file else config.bind.rpartition(":")[0]
    return (config.metrics_host or beside).strip("[]"), config.metrics_port


def serve(config: Config, scrape: Callable[[], bytes]) -> str:
    """Answer from a thread; return HOST:PORT, "" without a port.

    The default port may be taken, with a warning. Raises PortTaken for one that was
    asked for.
    """
    at = address(config)
    if at is None:
        return ""
    try:
        server = _Server(at, scrape)
    except OSError as error:
        sentence = (
            f"metrics port {at[1]} on {at[0]} cannot be used ({error.strerror}): choose "
            "1 to 65535, or off, with --metrics-port or SVC_METRICS_PORT"
        )
        if config.metrics_port_explicit:
            raise PortTaken(sentence) from error
        _LOG.warning("%s; metrics stay on the API port", sentence)
        return ""
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return f"[{at[0]}]:{at[1]}" if ":" in at[0] else f"{at[0]}:{at[1]}"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, at: tuple[str, int], scrape: Callable[[], bytes]) -> None:
        self.address_family = socket.AF_INET6 if ":" in at[0] else socket.AF_INET
        self.scrape = scrape
        self._places = threading.BoundedSemaphore(MOST_CALLERS)
        super().__init__(at, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a caller from a thread, or hang up where too many have one."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread is to be had
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one caller, and leave its place to the next."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log what is no fault of a client that went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            _LOG.exception("the metrics port failed")


class _Handler(BaseHTTPRequestHandler):
    """Answers `/metrics`, and plain 404 for anything else."""

    protocol_version = "HTTP/1.1"
    timeout = ASKING_SECONDS
    server: _Server

    def handle_one_request(self) -> None:
        """Answer a request, or hang up on who takes too long over it."""
        # `timeout` begins anew with each byte.
        self._late = threading.Timer(ASKING_SECONDS, self._hang_up)
        self._late.daemon = True
        self._late.start()
        try:
            super().handle_one_request()
        finally:
            self._late.cancel()

    def _hang_up(self) -> None:
        with suppress(OSError):  # it has gone by itself
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self._late.cancel()
        if self.path.partition("?")[0] != "/metrics":
            self._send(HTTPStatus.NOT_FOUND, b"not found\n", "text/plain")
            return
        try:
            body = self.server.scrape()
        except Exception:
            _LOG.exception("a scrape failed")
            text = b"the metrics could not be collected; see the log\n"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, text, "text/plain")
            return
        self._send(HTTPStatus.OK, body, CONTENT_TYPE)

    do_HEAD = do_GET  # noqa: N815

    def send_error(
        self, code: int, message: str | None = None, explain: str | None = None
    ) -> None:
        """Refuse methods as every path of the service does, for Python says 501."""
        if code != HTTPStatus.NOT_IMPLEMENTED:
            super().send_error(code, message, explain)
            return
        self.close_connection = True  # a body, if any, stays unread
        status = HTTPStatus.METHOD_NOT_ALLOWED
        body = to_json(error_body("this method is not allowed on this path", status))
        self._send(status, body, "application/json", allow="GET, HEAD")

    def _send(
        self, status: HTTPStatus, body: bytes, content_type: str, allow: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        if allow:
            self.send_header("Allow", allow)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        # http.server leaves it to us that HEAD has the headers of GET and no body.
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """Name no software."""
        return "metrics"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Scrapes are not logged."""
