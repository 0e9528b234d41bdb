"""What a subscription may be, and how long to wait after failures. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final
from urllib.parse import urlsplit

from meshmgmt.core.errors import FieldError
from meshmgmt.core.textrules import MAX_NAME

MAX_EVENTS: Final = 500
MAX_BYTES: Final = 512 * 1024
"""Of one batch; an event alone may be larger."""
MOST: Final = 50
"""Subscriptions at most: each is a label of metrics and a look-up every few seconds."""
FIRST_WAIT: Final = 2.0
LONGEST_WAIT: Final = 6 * 3600.0
MAX_PORT: Final = 65535
_TIMES: Final = frozenset({"start_date", "end_date"})
TARGETS: Final = {
    "webhook": ("url",),
    "syslog": ("host", "port", "tls"),
    "file": ("path",),
}
"""The fields of each type of target."""
_PART: Final = "[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}"
_PATH: Final = re.compile(rf"(?:{_PART}/){{0,8}}{_PART}")
_HOST: Final = re.compile(r"[A-Za-z0-9._:-]{1,253}")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What this deployment lets targets be."""

    plain_http: bool
    files: bool


def subscription_errors(
    subscription: Mapping[str, Any], allowed: Allowed
) -> Iterator[FieldError]:
    """Yield what is wrong apart from names taken and values of filters."""
    called = subscription["name"]
    fits = called.strip() and len(called) <= MAX_NAME
    if not fits or not called.isprintable():
        yield FieldError(
            "name", f"the name must be 1 to {MAX_NAME} printable characters"
        )
    for name, value in subscription["filters"].items():
        texts = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in texts):
            text = f"the filter {name} must be a text or an array of texts"
            yield FieldError(f"filters.{name}", text)
        if name in _TIMES:
            text = f"{name} is not for subscriptions: a replay has times"
            yield FieldError(f"filters.{name}", text)
    yield from _target_errors(subscription["target"], allowed)


def _target_errors(target: Mapping[str, Any], allowed: Allowed) -> Iterator[FieldError]:
    kind = str(target.get("type"))
    if kind not in TARGETS:
        text = f"the type of a target must be one of {', '.join(TARGETS)}"
        yield FieldError("target.type", text)
        return
    wanted = TARGETS[kind]
    for name in sorted(target.keys() - {*wanted, "type"}):
        yield FieldError(f"target.{name}", f"{name} is not for a target of type {kind}")
    for name in wanted:
        if name in target:
            fault = _fault(name, target[name], allowed)
        else:
            text = f"{name} is required for a target of type {kind}"
            fault = "" if name == "tls" else text
        if fault:
            yield FieldError(f"target.{name}", fault)


def _fault(name: str, value: Any, allowed: Allowed) -> str:
    """Say what is wrong with a value of a target, "" for nothing."""
    match name:
        case "url":
            return url_fault(value, allowed.plain_http)
        case "host" if not _HOST.fullmatch(value):
            return "the host must be a host name or an IP address"
        case "port" if not 1 <= value <= MAX_PORT:
            return f"the port must be between 1 and {MAX_PORT}"
        case "path" if not _PATH.fullmatch(value):
            return (
                "the path must be relative, of letters, digits, '.', '_', '-' and '/'"
            )
        case "path" if not allowed.files:
            return "the path needs SVC_DELIVERY_DIR, which is not set"
    return ""


def url_fault(url: str, plain_http: bool) -> str:
    """Say what is wrong with the address of a webhook, "" for nothing."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "the URL must be an address such as https://HOST/PATH"
    if not re.fullmatch(r"[!-~]{1,2000}", url) or not parts.hostname or port == 0:
        return "the URL must be an address such as https://HOST/PATH"
    if parts.scheme != "https" and not (plain_http and parts.scheme == "http"):
        return f"the URL must begin with {'http:// or ' if plain_http else ''}https://"
    if parts.username is not None or parts.fragment:
        return "the URL must hold no credentials and no fragment"
    return ""


def masked(target: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return a target for those who may not change it: a query may hold a token."""
    if target is None or "url" not in target:
        return None if target is None else dict(target)
    return {**target, "url": re.sub(r"\?.*", "?***", target["url"])}


def backoff(failures: int, chance: float) -> float:
    """Return how many seconds to wait after so many failures in a row.

    `chance` (0 to 1) spreads receivers that failed together over half of the time.
    """
    # 2**1024 is no float any more.
    longest = min(FIRST_WAIT * float(2 ** min(failures - 1, 30)), LONGEST_WAIT)
    return longest * (1 + chance) / 2


def retry_after(header: str | None, now: datetime) -> float:
    """Return the seconds that a receiver asks to wait (RFC 9110, 10.2.3), 0 if unclear."""
    text = (header or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(float(text), LONGEST_WAIT)
    try:
        moment = parsedate_to_datetime(text)
        seconds = (moment - now).total_seconds()
    except (ValueError, TypeError, OverflowError):  # no date, or one without a zone
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT)
