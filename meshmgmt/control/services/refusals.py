"""What a peer is refused, with the code that its client acts upon (RPC status codes)."""

from enum import StrEnum
from typing import Final

SENT_BEFORE: Final = "the message was sent before"


class Code(StrEnum):
    """Names of gRPC status codes.

    PERMISSION_DENIED makes a client give up, so it only ever is a decision about that
    very peer. Whatever may pass by itself is UNAVAILABLE.
    """

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    NOT_FOUND = "NOT_FOUND"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    RESOURCE_EXHAUSTED = "RESOURCE_EXHAUSTED"
    FAILED_PRECONDITION = "FAILED_PRECONDITION"
    UNAVAILABLE = "UNAVAILABLE"
    UNAUTHENTICATED = "UNAUTHENTICATED"


class Refused(Exception):
    """A request of a peer is refused; `text` goes over the wire, `reason` does not."""

    def __init__(self, code: Code, text: str, *, reason: str = "") -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.reason = reason or text


class Busy(Refused):
    """Too many calls wait already; trying again helps."""

    def __init__(self) -> None:
        super().__init__(Code.RESOURCE_EXHAUSTED, "the service is busy: try again")


class WrongKey(Refused):
    """No setup key that is good; whoever shows many guesses them."""

    def __init__(self, text: str, *, reason: str = "") -> None:
        super().__init__(Code.PERMISSION_DENIED, text, reason=reason)
