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
):
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
def test_null_is_the_same_as_absent(stream: Stream, good: dict[str, Any]):
    optional = set(fields_of(stream.kind)) - set(good)
    nulls = good | dict.fromkeys(optional)
    assert one_event(stream.kind, nulls) == one_event(stream.kind, good)


def test_null_deep_inside_is_the_same_as_absent():
    end = {"id": None, "address": "10.0.0.1", "geo_location": {"city_name": None}}
    sent = traffic(source=end, user={"id": None})
    plain = sent | {"source": {**sent["source"], "id": "", "geo_location": {}}}
    plain["user"] = {}
    assert one_event(TRAFFIC.kind, sent) == one_event(TRAFFIC.kind, plain)
