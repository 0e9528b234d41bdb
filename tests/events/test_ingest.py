"""Batches of events come in whole or not at all, and each event once."""

import gc
import gzip
import tracemalloc
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
import zstandard

from events.models import ProxyEntry, ProxyTally, TrafficEvent, TrafficTally
from events.streams import batches
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.streams.pages import tallied
from meshmgmt.core import clock
from meshmgmt.core.errors import PayloadTooLarge
from tests.api_client import Api
from tests.events.samples import (
    AUDIT_PATH,
    PROXY_PATH,
    TRAFFIC_PATH,
    moment,
    proxy,
    traffic,
)
from tests.people import api_of, person

pytestmark = pytest.mark.django_db


def stored() -> int:
    """Return the number of traffic events, which the tallies must agree with."""
    count = TrafficEvent.objects.count()
    assert tallied(TrafficTally.objects.all()) == count
    return count


def test_an_array_is_stored(api: Api):
    answer = api.post(TRAFFIC_PATH, [traffic(), traffic(protocol=17)])
    assert (answer.status, answer.json) == (200, {"accepted": 2, "duplicates": 0})
    assert stored() == 2


def test_lines_of_json_are_stored(api: Api):
    body = b"\n".join(orjson.dumps(proxy(path=f"/{n}")) for n in range(3)) + b"\r\n\n"
    assert api.post(PROXY_PATH, body).json == {"accepted": 3, "duplicates": 0}
    assert ProxyEntry.objects.count() == tallied(ProxyTally.objects.all()) == 3


def test_an_empty_array_is_nothing(api: Api):
    assert api.post(TRAFFIC_PATH, []).json == {"accepted": 0, "duplicates": 0}


def test_compressed_bodies_are_read(api: Api):
    compressed: dict[str, Callable[[bytes], bytes]]
    compressed = {"gzip": gzip.compress, "zstd": zstandard.compress}
    for encoding, compress in compressed.items():
        packed = compress(orjson.dumps([traffic(flow_id=encoding)]))
        kind = {"Content-Encoding": encoding}
        answer = api.call("POST", TRAFFIC_PATH, packed, **kind)
        assert answer.json == {"accepted": 1, "duplicates": 0}


def test_a_repeated_batch_stores_nothing_twice(api: Api):
    batch = [traffic(id=f"event-{n}") for n in range(3)]
    api.post(TRAFFIC_PATH, batch[:2])
    answer = api.post(TRAFFIC_PATH, batch)
    assert answer.json == {"accepted": 1, "duplicates": 2}
    assert stored() == 3


def test_a_repeated_event_without_a_time_is_the_same_event(api: Api):
    event = traffic(id="timeless")
    del event["window_end"]
    assert api.post(TRAFFIC_PATH, [event]).json["accepted"] == 1
    assert api.post(TRAFFIC_PATH, [event]).json == {"accepted": 0, "duplicates": 1}


@pytest.mark.parametrize(
    ("path", "sample", "time"),
    [(TRAFFIC_PATH, traffic, "window_end"), (PROXY_PATH, proxy, "timestamp")],
    ids=["traffic", "proxy"],
)
def test_events_without_ids_are_told_apart_by_what_they_say_and_when(
    api: Api, path: str, sample: Callable[..., dict[str, Any]], time: str
):
    nothings: list[dict[str, Any]] = [{}, {"id": None}, {"id": ""}]
    for number, nothing in enumerate(nothings):
        event = sample(service_id=f"s{number}", reporter_id=f"r{number}")
        other = event | {"flow_id": "f", "path": "/f"}
        batch = [event | nothing, event | nothing, other]
        assert api.post(path, batch).json == {"accepted": 3, "duplicates": 0}
        again = [dict(reversed(event.items())) for event in batch]
        assert api.post(path, again).json == {"accepted": 0, "duplicates": 3}
        assert api.get(path).json["total_records"] == 3 * (number + 1)
    timeless = sample()
    del timeless[time]
    answer = api.post(path, [sample(), timeless])
    assert (answer.status, list(answer.fields)) == (422, ["[1].id"])


def test_an_id_of_two_events_is_refused(api: Api):
    def refused(batch: list[Any]) -> list[str]:
        answer = api.post(TRAFFIC_PATH, batch)
        assert answer.status == 422
        return list(answer.fields)

    assert refused([traffic(id="x"), traffic(), traffic(id="x")]) == ["[2].id"]
    assert stored() == 0
    api.post(TRAFFIC_PATH, [traffic(id="x", window_end=moment(10))])
    other_time, other_day = (
        traffic(id="x", window_end=moment(ago)) for ago in (9, 3 * 24 * 60)
    )
    assert refused([traffic(), other_time]) == ["[1].id"]
    assert refused([other_day]) == ["[0].id"]
    assert stored() == 1


NOW = {"timestamp": moment()}
PAST, FUTURE = "1999-01-01T00:00:00Z", "2099-01-01T00:00:00Z"
WHOLE, REQUIRED = "must be a whole number", "is required"
WRONG_TRAFFIC: list[tuple[Any, int, str] | tuple[Any, int, str, str]] = [
    ("text", 400, "[1]"),
    ([], 400, "[1]"),
    (traffic(protocol="6"), 400, "[1].protocol", WHOLE),
    (traffic(flow_id=5), 400, "[1].flow_id", "must be a text"),
    (traffic(flow_id="x" * 129), 422, "[1].flow_id", "is more than 128 characters"),
    (traffic(protocol=True), 400, "[1].protocol"),
    (traffic(protocol=6.0), 400, "[1].protocol"),
    (traffic(protocol=256), 422, "[1].protocol"),
    (traffic(rx_bytes=-1), 422, "[1].rx_bytes", "is less than 0"),
    (traffic(rx_bytes=2**63), 422, "[1].rx_bytes", f"is more than {2**63 - 1}"),
    (traffic(tx_packets=2**63), 422, "[1].tx_packets"),
    (traffic(direction="SIDEWAYS"), 422, "[1].direction"),
    (traffic(connection_type="MAGIC"), 422, "[1].connection_type"),
    (traffic(reporter_id=""), 422, "[1].reporter_id", REQUIRED),
    (traffic(reporter_id=None), 422, "[1].reporter_id", REQUIRED),
    (traffic(reporter_id=5), 400, "[1].reporter_id"),
    (traffic(reporter_id="\0"), 422, "[1].reporter_id"),
    (traffic(reporter_id="x" * 129), 422, "[1].reporter_id"),
    (traffic(source={"id": "", "address": ""}), 422, "[1].source"),
    (traffic(source={"type": "SPY"}), 422, "[1].source.type"),
    (traffic(source={"geo_location": []}), 400, "[1].source.geo_location"),
    (traffic(user=[]), 400, "[1].user", "must be an object"),
    (traffic(user={"name": "a\0"}), 422, "[1].user.name", "holds a NUL character"),
    (traffic(user={"email": 1}), 400, "[1].user.email"),
    (traffic(icmp={"type": 256}), 422, "[1].icmp.type", "is more than 255"),
    (traffic(events={}), 400, "[1].events", "must be a list"),
    (traffic(events=[None]), 400, "[1].events[0]", "must be an object"),
    (traffic(events=[{}] * 1001), 422, "[1].events", "is more than 1000 items"),
    (traffic(events=[NOW | {"type": "TYPE_X"}]), 422, "[1].events[0].type"),
    (traffic(events=[{"type": "TYPE_END"}]), 422, "[1].events[0].timestamp"),
    (traffic(events=[NOW, {"timestamp": FUTURE}]), 422, "[1].events[1].timestamp"),
    (traffic(events=[{"timestamp": PAST}]), 422, "[1].events[0].timestamp"),
    (traffic(window_start=PAST), 422, "[1].window_start"),
    (traffic(receive_timestamp=5), 400, "[1].receive_timestamp"),
    (traffic(receive_timestamp="now"), 422, "[1].receive_timestamp"),
    (traffic(window_end="yesterday"), 422, "[1].window_end"),
    (traffic(window_end="2026-13-01T00:00:00Z"), 422, "[1].window_end"),
    (traffic(window_end="2026-01-01T00:00:00"), 422, "[1].window_end"),
    (traffic(window_end=5), 400, "[1].window_end"),
    (traffic(window_start=moment(1)), 422, "[1].window_start"),
    (traffic(window_end="1970-01-01T00:00:00Z"), 422, "[1].window_end"),
    (traffic(window_end="9999-12-31T23:59:59Z"), 422, "[1].window_end"),
    (traffic(window_end=moment(-3 * 24 * 60)), 422, "[1].window_end"),
]


def test_the_first_fault_is_named_and_nothing_stored(api: Api):
    wrong = []
    for event, status, field, *words in WRONG_TRAFFIC:
        answer = api.post(TRAFFIC_PATH, [traffic(), event, 7])
        said = answer.fields.get(field, "")
        told = answer.status, [*answer.fields], all(part in said for part in words)
        if told != (status, [field], True) or stored():
            wrong.append((field, event, answer.status, answer.json))
    assert wrong == []


WRONG_PROXY: list[tuple[Any, int, str]] = [
    ({}, 422, "[0]"),
    ({"id": "x", "timestamp": moment(), "method": "GET"}, 422, "[0]"),
    (proxy(status_code="200"), 400, "[0].status_code"),
    (proxy(status_code=1000), 422, "[0].status_code"),
    (proxy(duration_ms=-1), 422, "[0].duration_ms"),
    (proxy(duration_ms=2**31), 422, "[0].duration_ms"),
    (proxy(source_ip="nowhere"), 422, "[0].source_ip"),
    (proxy(source_ip="fe80::1%" + "x" * 300), 422, "[0].source_ip"),
    (proxy(protocol="gopher"), 422, "[0].protocol"),
    (proxy(metadata={"a": 1}), 400, "[0].metadata.a"),
    (proxy(metadata=[]), 400, "[0].metadata"),
    (proxy(path="/" * 8193), 422, "[0].path"),
    (proxy(timestamp=moment(8 * 24 * 60)), 422, "[0].timestamp"),
]


def test_a_wrong_entry_is_refused(api: Api):
    wrong = []
    for entry, status, field in WRONG_PROXY:
        answer = api.post(PROXY_PATH, [entry])
        if (answer.status, [*answer.fields]) != (status, [field]):
            wrong.append((field, entry, answer.status, answer.json))
    assert wrong == []
    assert ProxyEntry.objects.count() == 0


def test_an_address_is_stored_and_found_without_its_zone(api: Api):
    api.post(PROXY_PATH, [proxy(source_ip="FE80::1%eth0")])
    [entry] = api.get(f"{PROXY_PATH}?source_ip=fe80::1%25lan").json["data"]
    assert entry["source_ip"] == "fe80::1"


ONE = orjson.dumps([traffic()])
FORTY = 40 * 2**20


def test_broken_bodies_are_refused_whole(api: Api):
    bodies = {
        "empty": (b"", "identity", 400),
        "open array": (b"[", "identity", 400),
        "rubbish after it": (ONE + b"x", "identity", 400),
        "no UTF-8": (b'[{"reporter_id":"\xff"}]', "identity", 400),
        "surrogate": (b'[{"reporter_id":"\\ud800"}]', "identity", 400),
        "far too deep": (b"[" * 100_000, "identity", 400),
        "too deep": (b"[" * 70 + b"]" * 70, "identity", 400),
        "open line": (ONE[1:-1] + b"\n{", "identity", 400),
        "cut gzip": (gzip.compress(ONE * 9)[:-9], "gzip", 400),
        "no gzip": (b"no gzip", "gzip", 400),
        "gzip bomb": (gzip.compress(b" " * FORTY, 1), "gzip", 413),
        "zstd bomb": (zstandard.compress(b" " * FORTY), "zstd", 413),
        "long": (b" " * FORTY, "identity", 413),
        "too many": (orjson.dumps([traffic()] * 10_001), "identity", 413),
        "unknown encoding": (b"[]", "br", 415),
    }
    found = {}
    for name, (body, encoding, _) in bodies.items():
        answer = api.call("POST", TRAFFIC_PATH, body, **{"Content-Encoding": encoding})
        found[name] = answer.status, answer.json["code"], stored()
    assert found == {name: (status, status, 0) for name, (*_, status) in bodies.items()}


@pytest.mark.parametrize("stream", [TRAFFIC, PROXY])
@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"{}," * 10**6 + b"{}]",
        b"[" + b"[]," * 10**6 + b"[]]",
        b"{}\n" * 10**6,
        b'[{"x": [' + b"1.5," * 3 * 10**6 + b"1.5]}]",
    ],
    ids=["objects", "lists", "lines", "numbers"],
)
def test_a_million_values_of_nothing_take_up_no_memory(stream: Stream, body: bytes):
    tracemalloc.start()
    try:
        with pytest.raises(PayloadTooLarge):
            batches.ingest(stream, body)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(body)
    finally:
        tracemalloc.stop()


def test_multipart_is_not_supported(api: Api):
    body = b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--\r\n"
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    assert api.call("POST", TRAFFIC_PATH, body, **kind).status == 415


def test_a_broken_line_is_named_by_its_index(api: Api):
    answer = api.post(TRAFFIC_PATH, orjson.dumps(traffic()) + b"\n{oops}")
    assert (answer.status, list(answer.fields)) == (400, ["[1]"])


def test_an_ingest_token_writes_and_does_not_read():
    shipper = api_of(person("admin"), scope="ingest")
    assert shipper.post(TRAFFIC_PATH, [traffic()]).status == 200
    assert shipper.post(PROXY_PATH, [proxy()]).status == 200
    for path in (TRAFFIC_PATH, PROXY_PATH, f"{PROXY_PATH}/summary", AUDIT_PATH):
        assert shipper.get(path).status == 403


def test_an_ingest_token_may_ask_what_the_endpoints_allow():
    shipper = api_of(person("admin"), scope="ingest")
    for path in (TRAFFIC_PATH, PROXY_PATH):
        answer = shipper.call("OPTIONS", path)
        assert answer.status == 200
        assert answer.headers["Allow"] == "GET, POST, HEAD, OPTIONS"
        assert shipper.call("HEAD", path).status == 403
    assert shipper.call("OPTIONS", AUDIT_PATH).status == 403


def test_lookups_of_a_batch_do_not_grow_with_it(django_assert_max_num_queries: Any):
    for count in (2, 400):
        names = [(f"{count}-{n}", f"p{n}") for n in range(count)]
        events = [traffic(id=name, policy={"id": policy}) for name, policy in names]
        batches.ingest_events(TRAFFIC, events[:1])
        with django_assert_max_num_queries(14):
            batches.ingest_events(TRAFFIC, events)


def test_the_oldest_kept_moment_is_accepted(api: Api):
    oldest = clock.now() - timedelta(days=30) + timedelta(minutes=1)
    event = traffic(window_end=clock.rfc3339(oldest))
    assert api.post(TRAFFIC_PATH, [event]).status == 200


def test_brackets_inside_of_texts_are_no_nesting(api: Api):
    event = traffic(source={"name": "[" * 100}, flow_id="}]" * 30)
    assert api.post(TRAFFIC_PATH, [event]).json == {"accepted": 1, "duplicates": 0}


def test_the_garbage_collector_runs_again_after_a_batch(api: Api):
    api.post(TRAFFIC_PATH, [traffic()])
    api.post(TRAFFIC_PATH, [traffic(protocol="x")])
    assert gc.isenabled()
