"""The metrics port: `/metrics` in a plain HTTP server of its own (decisions 7)."""

import errno
import logging
import socket
import sys
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from meshmgmt.env import Config
from observability.exposition import CONTENT_TYPE

_LOG: Final = logging.getLogger(__name__)


class PortTaken(Exception):
    """A port that was asked for cannot be had."""


def address(config: Config) -> tuple[str, int] | None:
    """Return host and port of the metrics listener, None when it is off."""
    if config.metrics_port is None:
        return None
    if config.metrics_host is not None:
        return config.metrics_host.strip("[]"), config.metrics_port
    if config.bind.startswith("unix:"):
        return "127.0.0.1", config.metrics_port
    return config.bind.rpartition(":")[0].strip("[]"), config.metrics_port


def listen(host: str, port: int, patience: float = 0.0) -> socket.socket:
    """Return a listening socket; waits `patience` seconds for a taken port.

    Raises OSError.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return _listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= deadline:
                raise
        time.sleep(0.05)


def _listen(host: str, port: int) -> socket.socket:
    family, _, _, _, at = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(at)
        listener.listen(64)
    except OSError:
        listener.close()
        raise
    return listener


class _Handler(BaseHTTPRequestHandler):
    """Answers `/metrics`, and plain 404 for anything else."""

    protocol_version = "HTTP/1.1"
    timeout = 10  # seconds: a client that sends nothing must not keep a thread

    def do_GET(self) -> None:
        """Send the figures."""
        if self.path.partition("?")[0] != "/metrics":
            self._send(HTTPStatus.NOT_FOUND, b"not found\n", "text/plain")
            return
        scrape: Callable[[], bytes] = vars(self.server)["scrape"]
        try:
            body = scrape()
        except Exception:
            _LOG.exception("a scrape failed")
            text = b"the metrics could not be collected; see the log\n"
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, text, "text/plain")
            return
        self._send(HTTPStatus.OK, body, CONTENT_TYPE)

    do_HEAD = do_GET  # noqa: N815

    def _send(self, status: HTTPStatus, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """Name no software."""
        return "metrics"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Scrapes are not logged."""


class MetricsServer(ThreadingHTTPServer):
    """Serves `/metrics` on a socket that is listening already."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, scrape: Callable[[], bytes]) -> None:
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.scrape = scrape

    def handle_error(self, request: object, client_address: object) -> None:
        """Log what is no fault of a client that went away."""
        if not isinstance(sys.exc_info()[1], OSError):
            _LOG.exception("the metrics port failed")
