"""An event sent to a webhook while somebody waits: what went out, and what came back."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from meshmgmt.delivery.feeds import Event, sample
from meshmgmt.delivery.models import Subscription
from meshmgmt.delivery.rules import masked
from meshmgmt.delivery.senders import webhook
from meshmgmt.delivery.senders.outcomes import Gone, NotDelivered, Refused, described

SHOWN_BYTES: Final = 4096
"""Of a body or of all headers, so many are shown."""
_SECRET: Final = frozenset({"webhook-signature", "set-cookie"})


@dataclass(frozen=True, slots=True)
class Side:
    """One message: its first line, headers, and the beginning of its body."""

    line: str
    headers: str
    body: str
    rest: int
    """Bytes of the body that are not shown."""


@dataclass(frozen=True, slots=True)
class Talk:
    """`sent` is None when nothing could be, `answer` without one; `error` says why.

    `error` is "" when the receiver took it. It took `milliseconds`.
    """

    sent: Side | None
    answer: Side | None
    error: str
    milliseconds: int


def talk_with(subscription: Subscription, events: list[Event]) -> Talk:
    """Send events to a webhook now, or a sample where there are none.

    The place in the stream stays. Waits as long as a delivery does.
    """
    started = time.monotonic()
    sent = answer = None
    error = ""
    kind = f"{subscription.stream}.events" if events else "test"
    try:
        post = webhook.written(subscription, kind, events or [sample()])
        address = (masked(subscription.target) or {})["url"]
        sent = _side(f"POST {address}", post.headers.items(), post.body)
        got = webhook.posted(post)
        answer = _side(f"{got.status} {got.reason}", got.headers.items(), got.body)
        webhook.check(got)
    except (NotDelivered, Refused, Gone, OSError) as fault:
        error = described(fault)
    return Talk(sent, answer, error, round(1000 * (time.monotonic() - started)))


def _side(line: str, headers: Iterable[tuple[str, str]], body: bytes) -> Side:
    lines = (
        f"{name}: {'***' if name.lower() in _SECRET else value}"
        for name, value in headers
    )
    shown = body[:SHOWN_BYTES].decode("utf-8", "replace")
    told = "\n".join(lines)[:SHOWN_BYTES]
    return Side(line.strip(), told, shown, max(0, len(body) - SHOWN_BYTES))
