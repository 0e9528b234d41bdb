"""Webhooks, signed per Standard Webhooks."""

import base64
import hmac
import http.client
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

import meshmgmt
from meshmgmt.core import clock
from meshmgmt.core.sealing import Unreadable
from meshmgmt.delivery.feeds import Event
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import retry_after
from meshmgmt.delivery.secrets import key_of, secrets_of
from meshmgmt.delivery.senders.addresses import connected
from meshmgmt.delivery.senders.outcomes import Gone, NotDelivered, Refused

_ANSWER_BYTES: Final = 64 * 1024
_REFUSALS: Final = frozenset({400, 404, 413, 422})
_GONE: Final = 410
_OK: Final = range(200, 300)


@dataclass(frozen=True, slots=True)
class Post:
    """What goes out: headers by name, and the body."""

    url: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; of a long body the beginning."""

    status: int
    reason: str
    headers: Message
    body: bytes


def send(subscription: Subscription, kind: str, events: list[Event]) -> None:
    """Send a batch as one message. Raises NotDelivered, Refused, Gone, OSError."""
    check(posted(written(subscription, kind, events)))


def written(subscription: Subscription, kind: str, events: list[Event]) -> Post:
    """Return a batch as one signed message. Raises NotDelivered."""
    try:
        keys = [key_of(secret) for secret in secrets_of(subscription)]
    except Unreadable as error:
        text = "the secret was sealed under another SVC_SECRET_KEY: give it a new one"
        raise NotDelivered(text) from error
    body = message(kind, events)
    url = subscription.target["url"]
    headers = {
        "Host": urlsplit(url).netloc,
        "Content-Type": "application/json",
        "User-Agent": f"meshmgmt/{meshmgmt.__version__}",
        "Connection": "close",
    }
    headers |= signed(keys, message_id(subscription.pk, body), body)
    return Post(url, headers, body)


def message(kind: str, events: list[Event]) -> bytes:
    """Return the body: the same for the same events, whenever they are sent."""
    moment = events[-1].time.isoformat().replace("+00:00", "Z")
    head = f'{{"type":"{kind}","timestamp":"{moment}","data":['.encode()
    return head + b",".join(event.body for event in events) + b"]}"


def message_id(subscription_id: str, body: bytes) -> str:
    """Return an id that a batch keeps when it is sent again."""
    return "msg_" + sha256(subscription_id.encode() + b"." + body).hexdigest()[:32]


def signed(keys: list[bytes], identifier: str, body: bytes) -> dict[str, str]:
    """Return the headers that prove where a message comes from, and when.

    Each key signs it: a receiver needs to know one of them.
    """
    stamp = str(int(clock.now().timestamp()))
    text = f"{identifier}.{stamp}.".encode() + body
    digests = (base64.b64encode(hmac.digest(key, text, "sha256")) for key in keys)
    return {
        "webhook-id": identifier,
        "webhook-timestamp": stamp,
        "webhook-signature": " ".join(f"v1,{digest.decode()}" for digest in digests),
    }


def posted(post: Post) -> Answer:
    """Return the answer; redirects are not followed. Raises NotDelivered, OSError."""
    parts = urlsplit(post.url)
    tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    host = parts.hostname or ""
    port = parts.port or (443 if tls else 80)
    # Without a port it would take the last group of an IPv6 address for one.
    connection = http.client.HTTPConnection(host, port)
    try:
        # Its socket is given to it, so the name is not resolved once more.
        with connected(host, port, tls=tls) as connection.sock, closing(connection):
            connection.request("POST", path, post.body, post.headers)
            answer = connection.getresponse()
            read = answer.read(_ANSWER_BYTES)
            # http.client tells of a body that ends early only who reads it whole.
            if answer.length and len(read) < _ANSWER_BYTES:
                raise NotDelivered("the answer ended early")
            return Answer(answer.status, answer.reason, answer.headers, read)
    except http.client.HTTPException as error:
        raise NotDelivered(f"no HTTP answer: {type(error).__name__}") from error


def check(answer: Answer) -> None:
    """Raise what an answer means unless it is good: NotDelivered, Refused, Gone."""
    if answer.status in _OK:
        return
    text = f"the receiver answered {answer.status}"
    if answer.status == _GONE:
        raise Gone(text)
    if answer.status in _REFUSALS:
        raise Refused(text)
    wait = retry_after(answer.headers.get("Retry-After"), clock.now())
    raise NotDelivered(text, wait)
