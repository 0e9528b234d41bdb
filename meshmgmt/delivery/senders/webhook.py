"""Webhooks, signed per Standard Webhooks: their secrets, and messages and answers.

Secrets are made here, shown once, and kept sealed under `SVC_SECRET_KEY`.
"""

import base64
import hmac
import http.client
import secrets
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from email.message import Message
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings

import meshmgmt
from meshmgmt.core import clock
from meshmgmt.core.durations import GRACE
from meshmgmt.core.sealing import Unreadable, seal, unseal
from meshmgmt.delivery.feeds import Event, sample
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import masked, retry_after
from meshmgmt.delivery.senders import Gone, NotDelivered, Refused, described
from meshmgmt.delivery.senders.addresses import connected

PREFIX: Final = "whsec_"
SHOWN_BYTES: Final = 4096
"""Of a body or of all headers, so many are shown."""
_ANSWER_BYTES: Final = 64 * 1024
_REFUSALS: Final = frozenset({400, 404, 413, 422})
_GONE: Final = 410
_OK: Final = range(200, 300)
_SECRET: Final = frozenset({"webhook-signature", "set-cookie"})
"""Headers whose values are not shown."""


def give_secret(subscription: Subscription) -> str:
    """Return a new secret in the form of Standard Webhooks; keep it with the last one."""
    made = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    try:
        # Of two the newer: a further secret ends the day of the one before.
        kept = _opened(subscription)[:1] if subscription.sealed_secret else []
    # Sealed under another SVC_SECRET_KEY; a new secret must be possible all the same.
    except Unreadable:
        kept = []
    text = " ".join([made, *kept]).encode()
    subscription.sealed_secret = seal(_key(), text, subscription.pk)
    subscription.secret_made = clock.now()
    return made


def secrets_of(subscription: Subscription) -> list[str]:
    """Return the secrets that sign now, the newest first. Raises Unreadable."""
    made = subscription.secret_made
    overlaps = made is not None and clock.now() < made + GRACE
    return _opened(subscription)[: 1 + overlaps]


def key_of(secret: str) -> bytes:
    """Return the bytes that a secret stands for."""
    return base64.b64decode(secret.removeprefix(PREFIX))


def _opened(subscription: Subscription) -> list[str]:
    return unseal(_key(), subscription.sealed_secret, subscription.pk).decode().split()


def _key() -> bytes:
    return hmac.digest(settings.SECRET_KEY.encode(), b"secrets of webhooks", "sha256")


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


def talk_with(subscription: Subscription, events: list[Event]) -> dict[str, Any]:
    """Send events to a webhook now, or a sample where there are none.

    The place in the stream stays. Waits as long as a delivery does. What was `sent` is
    None when nothing could be, the `answer` without one; `error` says why, and is "" when
    the receiver took it.
    """
    started = time.monotonic()
    sent = answer = None
    error = ""
    kind = f"{subscription.stream}.events" if events else "test"
    try:
        post = written(subscription, kind, events or [sample()])
        address = (masked(subscription.target) or {})["url"]
        sent = _side(f"POST {address}", post.headers.items(), post.body)
        got = posted(post)
        answer = _side(f"{got.status} {got.reason}", got.headers.items(), got.body)
        check(got)
    except (NotDelivered, Refused, Gone, OSError) as fault:
        error = described(fault)
    took = round(1000 * (time.monotonic() - started))
    return {"sent": sent, "answer": answer, "error": error, "milliseconds": took}


def _side(
    line: str, headers: Iterable[tuple[str, str]], body: bytes
) -> dict[str, str | int]:
    """Return a message: first line, headers, the beginning of its body.

    Bytes of the body that are not shown are the `rest`.
    """
    lines = (
        f"{name}: {'***' if name.lower() in _SECRET else value}"
        for name, value in headers
    )
    return {
        "line": line.strip(),
        "headers": "\n".join(lines)[:SHOWN_BYTES],
        "body": body[:SHOWN_BYTES].decode("utf-8", "replace"),
        "rest": max(0, len(body) - SHOWN_BYTES),
    }
