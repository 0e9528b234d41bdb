"""Batches decoded at once and event by event are the same; faults are told exactly."""

from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.decoding import good_events, one_event
from events.streams.faults import EventFault
from tests.events.samples import proxy, traffic

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner)
    ),
    max_leaves=8,
)


def fields_of(kind: type[msgspec.Struct]) -> list[str]:
    """Return the names of the fields of an event."""
    return list(kind.__struct_fields__)


@pytest.mark.parametrize(("stream", "good"), [(TRAFFIC, traffic()), (PROXY, proxy())])
@given(st.data())
def test_both_ways_of_decoding_agree(
    stream: Stream, good: dict[str, Any], data: st.DataObject
) -> None:
    names = st.sampled_from([*fields_of(stream.kind), "unknown"])
    event = good | data.draw(st.dictionaries(names, values, max_size=2))
    try:
        text = orjson.dumps([event])
    except TypeError:  # a number of more than 64 bits, a surrogate
        return
    try:
        slow: Any = [one_event(stream.kind, orjson.loads(text)[0])]
    except EventFault:
        slow = None
    fast = good_events(stream.kind, text)
    # What holds nulls or NULs is left to the slow way, which takes some of it.
    assert fast in (slow, None)
    if fast is None and slow is not None:
        assert b"null" in text or b"\\u0000" in text


@pytest.mark.parametrize(("stream", "good"), [(TRAFFIC, traffic()), (PROXY, proxy())])
def test_null_is_the_same_as_absent(stream: Stream, good: dict[str, Any]) -> None:
    optional = set(fields_of(stream.kind)) - set(good)
    nulls = good | dict.fromkeys(optional)
    assert one_event(stream.kind, nulls) == one_event(stream.kind, good)


def test_null_deep_inside_is_the_same_as_absent() -> None:
    end = {"id": None, "address": "10.0.0.1", "geo_location": {"city_name": None}}
    sent = traffic(source=end, user={"id": None})
    plain = sent | {"source": {**sent["source"], "id": "", "geo_location": {}}}
    plain["user"] = {}
    assert one_event(TRAFFIC.kind, sent) == one_event(TRAFFIC.kind, plain)


@pytest.mark.parametrize(
    ("facts", "field", "words", "status"),
    [
        ({"protocol": "6"}, "protocol", "must be a whole number", 400),
        ({"flow_id": 5}, "flow_id", "must be a text", 400),
        ({"user": []}, "user", "must be an object", 400),
        ({"events": {}}, "events", "must be a list", 400),
        ({"events": [None]}, "events[0]", "must be an object", 400),
        ({"icmp": {"type": 256}}, "icmp.type", "is more than 255", 422),
        ({"rx_bytes": -1}, "rx_bytes", "is less than 0", 422),
        ({"rx_bytes": 10**30}, "rx_bytes", f"is more than {2**63 - 1}", 422),
        ({"flow_id": "x" * 129}, "flow_id", "is more than 128 characters", 422),
        ({"reporter_id": ""}, "reporter_id", "is required", 422),
        ({"reporter_id": None}, "reporter_id", "is required", 422),
        ({"events": [{}] * 1001}, "events", "is more than 1000 items", 422),
        ({"user": {"name": "a\0"}}, "user.name", "holds a NUL character", 422),
    ],
)
def test_a_fault_is_told_with_its_field(
    facts: dict[str, Any], field: str, words: str, status: int
) -> None:
    with pytest.raises(EventFault) as caught:
        one_event(TRAFFIC.kind, traffic(**facts))
    fault = caught.value
    assert (fault.field, fault.message, fault.status) == (field, words, status)
