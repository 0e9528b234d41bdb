"""Takes batches of events in: reads, checks, completes, renders and stores them."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from hashlib import blake2b
from io import BytesIO
from itertools import islice
from typing import Any, Final

import orjson

from events.streams.catalogue import Stream
from events.streams.decoding import good_events, one_event
from events.streams.faults import BAD_TYPE, BatchRefused, EventFault, IdTaken
from events.streams.store import Stored, store
from events.vocabulary import FUTURE, LONGEST_PAST
from meshmgmt.api.requests import MAX_DEPTH, deeper_than
from meshmgmt.core import clock
from meshmgmt.core.collector import nothing_to_collect
from meshmgmt.core.errors import BadRequest, PayloadTooLarge

MAX_EVENTS: Final = 10_000
MAX_BODY_BYTES: Final = 32 * 2**20
MAX_PARTS: Final = 32 * MAX_EVENTS
"""Objects and lists in a batch: in memory each takes a hundred times its two bytes."""
MAX_VALUES: Final = 200 * MAX_EVENTS
"""A number or a short text takes a dozen times its bytes."""

WINDOW: Final = 10_000
"""How many distinct events back an equal one is counted as a repetition.

Equal events carry equal times, so they stand near each other.
"""
_UNRECOGNISABLE: Final = (
    "is required for an event without a time:"
    " it could not be recognised when it is sent again"
)
_NO_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))


class DerivedIds:
    """Ids of events that bring none: the same events sent again get the same ids.

    Hashes of them, as lines or as JSON, with their ordinal among equal ones.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[str, int] = OrderedDict()

    def id_of(self, text: bytes) -> str:
        digest = blake2b(text, digest_size=12).hexdigest()
        # Taken out and put back: the window is of those seen last.
        ordinal = self._seen.pop(digest, 0) + 1
        self._seen[digest] = ordinal
        if len(self._seen) > WINDOW:
            self._seen.popitem(last=False)
        return f"{digest}-{ordinal}"


def ingest(stream: Stream, body: bytes) -> Stored:
    """Store the events of a request's body; all of them or none.

    Raises BadRequest, PayloadTooLarge, or BatchRefused naming index and field.
    """
    text = body.strip()
    with nothing_to_collect():
        received = clock.now()
        events = (
            good_events(stream.kind, text) if text and _surely_shallow(text) else None
        )
        if events is None:
            return ingest_events(stream, decode(text))
        if len(events) > MAX_EVENTS:
            raise _too_many()
        # Parsed a second time only where an event brings no id: its id is made of what was
        # sent, and the checks bring events into another shape, in place.
        sent = cache(lambda: decode(text))
        checked = _checked(stream, events, lambda event: event, sent, received)
        return store_checked(stream, checked)


def ingest_events(stream: Stream, events: Sequence[Any]) -> Stored:
    """Store events of parsed JSON; all of them or none."""
    return store_checked(stream, check_batch(stream, events, clock.now()))


def decode(body: bytes) -> list[Any]:
    """Return the events of a JSON array, or of lines that hold one object each."""
    text = body.strip()
    if not text:
        raise BadRequest("the body is empty: a JSON array or NDJSON is expected")
    is_shallow = _surely_shallow(text)
    events = _array(text) if text.startswith(b"[") else _lines(text)
    if not is_shallow and deeper_than(events, MAX_DEPTH):
        raise BadRequest(f"the JSON body is nested deeper than {MAX_DEPTH} levels")
    return events


def _surely_shallow(text: bytes) -> bool:
    """Tell from the brackets alone that nothing nests too deep; False when unsure.

    Walking the parsed events would take as long as checking them. Brackets inside of
    texts can mislead this, which does no harm: unknown fields are never looked into.
    Raises PayloadTooLarge for more of them than MAX_PARTS, or of commas than MAX_VALUES.
    """
    if text.count(b",") > MAX_VALUES:
        raise PayloadTooLarge(f"a batch holds at most {MAX_VALUES} values")
    brackets = text.translate(None, _NO_BRACKETS)
    if len(brackets) > 2 * MAX_PARTS:
        raise PayloadTooLarge(f"a batch holds at most {MAX_PARTS} objects and lists")
    for _ in range(MAX_DEPTH // 2):
        rest = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if not rest:
            return True
        if len(rest) == len(brackets):
            return False
        brackets = rest
    return False


def _array(text: bytes) -> list[Any]:
    try:
        events: list[Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not valid JSON: {error}") from error
    if len(events) > MAX_EVENTS:
        raise _too_many()
    return events


def _lines(text: bytes) -> list[Any]:
    lines = list(islice(filter(bytes.strip, BytesIO(text)), MAX_EVENTS + 1))
    if len(lines) > MAX_EVENTS:
        raise _too_many()
    events = []
    for index, line in enumerate(lines):
        try:
            events.append(orjson.loads(line))
        except orjson.JSONDecodeError as error:
            fault = EventFault("", f"is not valid JSON: {error}", BAD_TYPE)
            raise BatchRefused(index, fault) from error
    return events


def _too_many() -> PayloadTooLarge:
    return PayloadTooLarge(f"a batch holds at most {MAX_EVENTS} events")


def check_batch(stream: Stream, events: Sequence[Any], received: datetime) -> list[Any]:
    """Return the checked events, all with ids. Raises BatchRefused for the first fault."""
    return _checked(
        stream,
        events,
        lambda event: one_event(stream.kind, event),
        lambda: events,
        received,
    )


def _checked(
    stream: Stream,
    events: Sequence[Any],
    read: Callable[[Any], Any],
    sent: Callable[[], Sequence[Any]],
    received: datetime,
) -> list[Any]:
    """Return the checked events.

    One that brings no id gets it from its content as it was `sent`, so that a batch sent
    again is recognised.
    """
    checked = []
    seen: set[str] = set()
    derived = DerivedIds()
    kept = time_range(stream, received)
    for index, event in enumerate(events):
        try:
            good = check_event(stream, read(event), received, kept)
            content = good.content
            if not content.id:
                if not good.timed:
                    raise EventFault("id", _UNRECOGNISABLE)
                text = orjson.dumps(sent()[index], option=orjson.OPT_SORT_KEYS)
                content.id = derived.id_of(text)
            # COPY knows no ON CONFLICT, and which of the two was meant nobody can tell.
            if content.id in seen:
                raise EventFault("id", "stands twice in this batch")
        except EventFault as fault:
            raise BatchRefused(index, fault) from fault
        seen.add(content.id)
        checked.append(good)
    return checked


def time_range(stream: Stream, now: datetime) -> tuple[datetime, datetime]:
    return now - (stream.retention or LONGEST_PAST), now + FUTURE


def check_event(
    stream: Stream, content: Any, received: datetime, kept: tuple[datetime, datetime]
) -> Any:
    """Return the checked event. Raises EventFault, for a time that is not kept too."""
    good = stream.check(content, received)
    earliest, latest = kept
    if good.time > latest:
        raise EventFault(stream.sent_time, "is too far in the future")
    if good.time < earliest:
        raise EventFault(
            stream.sent_time, "is too far in the past: it would not be kept"
        )
    return good


def store_checked(stream: Stream, checked: list[Any]) -> Stored:
    """Complete, render and store checked events. Raises BatchRefused with their index."""
    # Before names are looked up: what is not kept needs none.
    wanted = stream.wanted(checked)
    untimed = frozenset(event.content.id for event in wanted if not event.timed)
    rows = [stream.row(event) for event in stream.enrich(wanted)]
    try:
        stored = store(stream, rows, untimed=untimed)
    except IdTaken as fault:
        # Among all events: the sender does not know which of them are not kept.
        ids = [event.content.id for event in checked]
        raise BatchRefused(ids.index(fault.identifier), fault) from fault
    return replace(stored, ignored=len(checked) - len(wanted))
