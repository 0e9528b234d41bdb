"""Events as lines: to a syslog receiver, or appended to a file.

Syslog (RFC 5424) goes over TCP or TLS, frames counted in octets (RFC 6587, RFC 5425). It
has no confirmation: the connection is closed from this end after each batch, and the batch
counts as received when the receiver, which read to the end, closes it too.
"""

import fcntl
import os
import re
import socket
import ssl
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from django.conf import settings

from meshmgmt.core import files
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders import NotDelivered, addresses
from meshmgmt.delivery.senders.addresses import connected

T = TypeVar("T")
_AUDIT: Final = 13 * 8 + 6  # log audit, informational
_LOCAL0: Final = 16 * 8 + 6
_MOST_BYTES_BACK: Final = 65_536


def to_syslog(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Send a batch, one frame an event. Raises NotDelivered, OSError."""
    target = subscription.target
    host, tls = target["host"], bool(target.get("tls"))
    frames = b"".join(framed(line(subscription.stream, event)) for event in events)
    with connected(host, target["port"], tls=False) as connection:
        if tls:
            _send_by_tls(connection, host, frames)
        else:
            connection.sendall(frames)
        _end(connection)


def to_file(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Append a batch as lines of JSON, all or nothing; it is on the disk by then.

    The file is below the folder of the deployment. Raises NotDelivered, also where a link
    leads out of that, OSError.
    """
    root = settings.SVC.delivery_dir
    if root is None:
        raise NotDelivered("SVC_DELIVERY_DIR is not set")
    path = root / subscription.target["path"]
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whoever may write below the folder could lead us elsewhere.
    if not path.parent.resolve().is_relative_to(root.resolve()):
        raise NotDelivered("the path leads out of SVC_DELIVERY_DIR")
    with files.opened(path) as file:
        files.append(file, [event.body for event in events])


def _send_by_tls(connection: socket.socket, host: str, frames: bytes) -> None:
    """Send by TLS, say goodbye (RFC 5425, 4.4), and read to the receiver's or its end.

    Raises NotDelivered, OSError; also for an alert by which the receiver refuses us,
    which in TLS 1.3 comes after the handshake. A socket's own `unwrap` takes that for a
    goodbye, so what comes in is given to TLS by hand, after its own is said.
    """
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=host)

    def carry(step: Callable[[], T]) -> T:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                connection.sendall(outgoing.read())
                part = connection.recv(65_536)
                incoming.write(part) if part else incoming.write_eof()
            finally:
                connection.sendall(outgoing.read())

    def receive(most: int) -> bytes:
        with suppress(ssl.SSLZeroReturnError, ssl.SSLEOFError):
            return carry(partial(tls.read, most))
        return b""

    carry(tls.do_handshake)
    carry(partial(tls.write, frames))
    with suppress(ssl.SSLWantReadError):
        while tls.read(4096):  # what came behind the handshake
            pass
    with suppress(ssl.SSLWantReadError):
        tls.unwrap()
    _read(receive)


def _end(connection: socket.socket) -> None:
    """Close our side and wait until the receiver has read all and closed its own.

    Raises NotDelivered, OSError. The system of a receiver that is killed closes as well,
    but what is still under way it answers with a reset (tcp(7)); a receiver may close
    its side first and acknowledge the rest later.
    """
    connection.shutdown(socket.SHUT_WR)
    _read(connection.recv)
    deadline = time.monotonic() + addresses.ANSWER_SECONDS
    while _is_under_way(connection):
        if time.monotonic() > deadline:
            raise NotDelivered("the receiver hung up before it had read all")
        time.sleep(0.01)


def _read(receive: Callable[[int], bytes]) -> None:
    """Read past what a receiver says, to its end."""
    read = 0
    while part := receive(4096):
        read += len(part)
        if read > _MOST_BYTES_BACK:
            raise NotDelivered("the receiver talks back without end")


def _is_under_way(connection: socket.socket) -> bool:
    """Tell whether something is not acknowledged yet. Raises OSError after a reset."""
    if error := connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(error, os.strerror(error))
    left = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))  # SIOCOUTQ
    return int.from_bytes(left, sys.byteorder) > 0


def framed(text: bytes) -> bytes:
    """Return a message behind the number of its octets."""
    return b"%d %s" % (len(text), text)


def line(stream: str, event: Event) -> bytes:
    """Return an event as a syslog message: what it is in the header, JSON as the text.

    The text has no byte order mark, which JSON does not allow (RFC 5424 calls that
    MSG-ANY); the enterprise number is the one for documentation (RFC 5612).
    """
    moment = event.time.isoformat(timespec="microseconds").replace("+00:00", "Z")
    priority = _AUDIT if stream == "audit" else _LOCAL0
    host = _word(socket.gethostname(), 255)
    data = f'[event@32473 id="{_quoted(event.id)}" stream="{stream}"]'
    head = (
        f"<{priority}>1 {moment} {host} meshmgmt - {_word(event.name, 32)} {data}"
    ).encode()
    return head + b" " + event.body


def _word(text: str, length: int) -> str:
    """Return a field of the header: visible ASCII, or `-` for nothing."""
    return re.sub(r"[^!-~]", "_", text)[:length] or "-"


def _quoted(text: str) -> str:
    return re.sub(r'(["\\\]])', r"\\\1", text)
