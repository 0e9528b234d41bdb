"""Events as lines: to a syslog receiver, or appended to a file.

Syslog (RFC 5424) goes over TCP or TLS, frames counted in octets (RFC 6587, RFC 5425). It
has no confirmation: the connection is closed from this end after each batch, and the batch
counts as received when the receiver, which read to the end, closes it too.
"""

import fcntl
import re
import socket
import ssl
import sys
import termios
from typing import Final

from django.conf import settings

from meshmgmt.core import files
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.senders import NotDelivered
from meshmgmt.delivery.senders.addresses import connected

_AUDIT: Final = 13 * 8 + 6  # log audit, informational
_LOCAL0: Final = 16 * 8 + 6
_MOST_BYTES_BACK: Final = 65_536


def to_syslog(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Send a batch, one frame an event. Raises NotDelivered, OSError."""
    target = subscription.target
    host, tls = target["host"], bool(target.get("tls"))
    frames = b"".join(framed(line(subscription.stream, event)) for event in events)
    with connected(host, target["port"], tls=tls) as connection:
        connection.sendall(frames)
        try:
            _read_to_end(_without_tls(connection))
        except ssl.SSLError:  # it hung up without a goodbye of its own
            _require_all_read(connection)


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


def _without_tls(connection: socket.socket) -> socket.socket:
    """Say goodbye in TLS, where it is spoken, and wait for the receiver's."""
    return connection.unwrap() if isinstance(connection, ssl.SSLSocket) else connection


def _read_to_end(connection: socket.socket) -> None:
    # The end of what is sent: a receiver closes when it has read up to here.
    connection.shutdown(socket.SHUT_WR)
    read = 0
    while part := connection.recv(4096):
        read += len(part)
        if read > _MOST_BYTES_BACK:
            raise NotDelivered("the receiver talks back without end")
    _require_all_read(connection)


def _require_all_read(connection: socket.socket) -> None:
    """Raise NotDelivered when a receiver hung up before it had read to the end.

    The system of one that ends, killed for instance, hangs up as well: with a reset when
    it had more to read, and acknowledging what it had read when the rest is under way.
    """
    left = fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4))  # SIOCOUTQ, see tcp(7)
    if int.from_bytes(left, sys.byteorder):
        raise NotDelivered("the receiver hung up before it had read all")


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
