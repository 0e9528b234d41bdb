"""One WebSocket handshake (RFC 6455, Section 4), by one thread and in limited time.

The threaded client of `websockets` does not do: it reads in one thread while another one
writes, which OpenSSL does not allow on one connection (openssl-threads(7)). When a session
ticket of TLS 1.3 came in while the request went out, the request was lost in silence, and
a reader that has begun with a ticket cannot be woken before the other side sends more.
"""

import socket
import ssl
import time
from contextlib import suppress
from typing import Final

from websockets.client import ClientProtocol
from websockets.frames import CloseCode
from websockets.http11 import USER_AGENT
from websockets.protocol import State
from websockets.uri import WebSocketURI, parse_uri

from meshmgmt.core.clock import seconds_left

CLOSE_SECONDS: Final = 0.2
_CHUNK: Final = 65_536


def shake_hands(url: str, context: ssl.SSLContext | None, seconds: float) -> None:
    """Connect to `url`, finish the opening handshake and part, within `seconds`.

    The context is that of a `wss` URL. Redirects are not followed. Raises OSError (which
    includes TimeoutError and errors of TLS), WebSocketException, or ValueError for a URL
    that cannot be used.
    """
    uri = parse_uri(url)
    deadline = time.monotonic() + seconds
    with socket.create_connection((uri.host, uri.port), timeout=seconds) as plain:
        if context is None:
            _upgrade(plain, uri, deadline)
            return
        plain.settimeout(seconds_left(deadline))
        with context.wrap_socket(plain, server_hostname=uri.host) as secure:
            _upgrade(secure, uri, deadline)


def _upgrade(connection: socket.socket, uri: WebSocketURI, deadline: float) -> None:
    protocol = ClientProtocol(uri)
    request = protocol.connect()
    request.headers["User-Agent"] = USER_AGENT
    protocol.send_request(request)
    connection.settimeout(seconds_left(deadline))
    connection.sendall(b"".join(protocol.data_to_send()))
    while protocol.state is State.CONNECTING and protocol.handshake_exc is None:
        connection.settimeout(seconds_left(deadline))
        if data := connection.recv(_CHUNK):
            protocol.receive_data(data)
        else:
            protocol.receive_eof()
    if protocol.handshake_exc is not None:
        raise protocol.handshake_exc
    _part(connection, protocol)


def _part(connection: socket.socket, protocol: ClientProtocol) -> None:
    """Close in order (RFC 6455, Section 7), but wait only little for the other side."""
    if protocol.state is State.OPEN:
        protocol.send_close(CloseCode.NORMAL_CLOSURE)
    deadline = time.monotonic() + CLOSE_SECONDS
    # The listener has answered: how it parts says nothing about its health.
    with suppress(OSError):
        connection.settimeout(seconds_left(deadline))
        connection.sendall(b"".join(protocol.data_to_send()))
        while connection.recv(_CHUNK):
            connection.settimeout(seconds_left(deadline))
