"""Pages of the big streams: parameters, envelope, order, and the schema they follow."""

import tracemalloc
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from events.api.serializers import ProxyEntrySerializer, TrafficEventSerializer
from events.models import ProxyEntry, TrafficEvent, TrafficTally
from events.streams import batches, pages
from events.streams import proxy as proxy_rows
from events.streams.catalogue import PROXY, TRAFFIC
from events.vocabulary import DIRECTIONS, ENDPOINT_TYPES
from meshmgmt.core import clock
from meshmgmt.core.queries import execute
from tests.api_client import Api
from tests.events.samples import PROXY_PATH, TRAFFIC_PATH, moment, proxy, traffic

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("path", "usual", "most"), [(TRAFFIC_PATH, 1000, 50_000), (PROXY_PATH, 50, 100)]
)
def test_an_empty_stream_is_an_empty_page_and_no_page_is_larger_than_the_maximum(
    api: Api, path: str, usual: int, most: int
):
    empty = {"data": [], "page": 1, "total_records": 0, "total_pages": 0}
    assert api.get(path).json == empty | {"page_size": usual}
    for number in (most + 1, 10**30, "9" * 5000):
        assert api.get(f"{path}?page_size={number}").json["page_size"] == most


def test_a_page_past_the_end_is_empty(api: Api):
    batches.ingest_events(TRAFFIC, [traffic()])
    answer = api.get(f"{TRAFFIC_PATH}?page=2")
    assert (answer.status, answer.json["data"]) == (200, [])
    assert (answer.json["page"], answer.json["total_records"]) == (2, 1)


BAD = [
    "page=0", "page=-1", "page=x", "page=1.0", "page=%2B1", "page=٣", "page=1e3",
    f"page={10**30}", "page=1&page=2", "page_size=0", "page_size=-5", "page_size=ten",
    "start_date=soon", "start_date=2026-W47", "start_date=2026-01-01T25:00:00Z",
    "start_date=-1", "start_date=-h", "start_date=--1h", "start_date=-1y",
    "start_date=-9999999d", "start_date=-999999w", "end_date=2026-02-30",
    "end_date=2026W47", "end_date=2026-W47T10:00", "end_date=2026-01-01&end_date=x",
    "end_date=0001-01-01T00:00%2B05:00", "search=%00", "user_id=a&user_id=&user_id=b",
]  # fmt: skip
BAD_OF = {
    TRAFFIC_PATH: [
        *BAD, "protocol=tcp", "protocol=256", "type=TYPE_NONE", "direction=UP",
        "connection_type=DIRECT",
    ],
    PROXY_PATH: [
        *BAD, "sort_by=id", "sort_order=up", "status=ok", "status_code=2xx",
        "source_ip=10.0.0", "status_class=9xx",
    ],
    "/api/events/audit": [
        "activity_code=group.explode", "activity_code=nothing.*",
        "activity_code=g?oup.add", "start_date=x", "start_date=soon",
        "end_date=2026-13-01", "page=0", "page_size=x", "cursor=5", "cursor=before.1",
        "cursor=after.-1", "cursor=before.999999999999999999.1", "search=%00",
    ],
    "/api/events/proxy/summary": [
        "group_by=colour", "group_by=host,path,user,method", "metric=sorrow",
        "bucket=5", "bucket=0m", "bucket=1s", "limit=0", "limit=1&limit=2",
        "group_by=host&group_by=path&group_by=status,method", "status=odd",
        "start_date=x",
    ],
}  # fmt: skip
ACCEPTED = ("application/json", "text/csv", "application/x-ndjson")


def test_a_bad_value_names_its_parameter_in_json_whatever_was_asked_for(api: Api):
    wrong, seen = [], set()
    for path, query in [(path, bad) for path, found in BAD_OF.items() for bad in found]:
        name = query.partition("=")[0]
        # The first of each parameter is asked for in every form.
        for accept in ACCEPTED if (path, name) not in seen else ACCEPTED[:1]:
            answer = api.get(f"{path}?{query}", Accept=accept)
            if (answer.status, list(answer.fields)) != (400, [name]):
                wrong.append((path, query, accept, answer.status, answer.json))
        seen.add((path, name))
    assert wrong == []


def test_a_nul_is_refused_by_name(api: Api):
    asked = ((TRAFFIC_PATH, "search"), (TRAFFIC_PATH, "user_id"), (PROXY_PATH, "path"))
    for path, name in asked:
        answer = api.get(f"{path}?{name}=a%00b")
        assert answer.status == 400
        assert answer.fields == {name: f"{name}: must not hold a NUL character"}


def test_all_bad_values_are_named_at_once(api: Api):
    answer = api.get(f"{PROXY_PATH}?page=0&sort_by=x&status=y")
    assert set(answer.fields) == {"page", "sort_by", "status"}


def test_empty_values_and_unknown_parameters_change_nothing(api: Api):
    batches.ingest_events(TRAFFIC, [traffic()])
    empty = "page=&page_size=&user_id=&protocol=&type=&search=&start_date=&colour=red"
    unescaped_plus = "start_date=2020-01-01T00:00:00+02:00"
    for query in (f"{empty}&page=1&page=1&colour=blue", unescaped_plus):
        assert api.get(f"{TRAFFIC_PATH}?{query}").json["total_records"] == 1, query


def test_traffic_is_newest_first_with_ties_by_id(api: Api):
    times = {"b": moment(3), "old": moment(9)}
    times["c"] = times["b"]
    flows = [traffic(id=name, window_end=time) for name, time in times.items()]
    batches.ingest_events(TRAFFIC, flows)
    ids = [event["id"] for event in api.get(TRAFFIC_PATH).json["data"]]
    assert ids == ["c", "b", "old"]


def test_the_time_of_a_flow_is_its_window_or_else_its_newest_event(api: Api):
    inner = [{"type": "TYPE_END", "timestamp": moment(m)} for m in (30, 20, 40)]
    event = traffic(id="by-events", events=inner)
    del event["window_end"]
    batches.ingest_events(
        TRAFFIC, [event, traffic(id="by-window", window_end=moment(25))]
    )
    data = api.get(TRAFFIC_PATH).json["data"]
    assert [event["id"] for event in data] == ["by-events", "by-window"]
    assert data[0]["window_end"] == inner[1]["timestamp"]


def test_unknown_optional_fields_of_an_entry_are_left_out(api: Api):
    bare = {"timestamp": moment(1), "id": "tcp-1", "service_id": "mail"}
    batches.ingest_events(PROXY, [bare])
    numbers = ("duration_ms", "status_code", "bytes_upload", "bytes_download")
    filled_in = dict.fromkeys(("method", "host", "path"), "") | dict.fromkeys(
        numbers, 0
    )
    assert api.get(PROXY_PATH).json["data"] == [bare | filled_in]


def test_totals_beyond_the_bound_say_at_least(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "EXACT_TOTAL", 5)
    monkeypatch.setattr(pages, "_SCAN_WHOLE", 6)
    monkeypatch.setattr(pages, "FEW", 4)
    batches.ingest_events(TRAFFIC, [traffic(user={"id": "u"}) for _ in range(8)])
    for query in ("", "user_id=u&", "protocol=6&", "search=laptop&"):
        answer = api.get(f"{TRAFFIC_PATH}?{query}page=4&page_size=2")
        assert answer.json["total_records"] == 5, query
        assert answer.headers["X-Total-Count-Precision"] == "at-least"
        assert len(answer.json["data"]) == 2, "rows beyond the bound are reachable"
    exact = api.get(f"{TRAFFIC_PATH}?user_id=nobody")
    assert "X-Total-Count-Precision" not in exact.headers


def test_totals_of_common_filters_come_from_the_tallies(api: Api):
    batches.ingest_events(TRAFFIC, [traffic(), traffic(protocol=17, num_of_drops=2)])
    TrafficTally.objects.filter(protocol=17).update(rows=41)
    query = "protocol=17&type=TYPE_DROP&direction=direction_unknown"
    assert api.get(f"{TRAFFIC_PATH}?{query}").json["total_records"] == 41


@pytest.mark.parametrize("path", [TRAFFIC_PATH, PROXY_PATH])
def test_a_page_costs_a_fixed_number_of_queries(
    path: str, api: Api, django_assert_max_num_queries: Any
):
    batches.ingest_events(TRAFFIC, [traffic() for _ in range(200)])
    batches.ingest_events(PROXY, [proxy() for _ in range(200)])
    api.get(path)  # the token's use is noted once a minute
    for size in (1, 100):
        with django_assert_max_num_queries(6):
            api.get(f"{path}?page_size={size}&search=lap")


def test_a_search_that_finds_few_is_made_once(api: Api):
    batches.ingest_events(TRAFFIC, [traffic() for _ in range(3)])
    for page, read in ((1, 2), (2, 1), (3, 0)):
        address = f"{TRAFFIC_PATH}?search=laptop&page_size=2&page={page}"
        api.get(address)
        with CaptureQueriesContext(connection) as queries:
            answer = api.get(address)
        assert (len(answer.json["data"]), answer.json["total_records"]) == (read, 3)
        searches = [query for query in queries if "events_trafficevent" in query["sql"]]
        assert len(searches) == (connection.vendor == "sqlite")  # COPY is not captured


def test_big_pages_are_sent_in_pieces_and_take_little_more_memory_than_that(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(pages, "_PIECE_ROWS", 200)
    name = "n" * 250
    events = [traffic(source={"name": name}, flow_id=str(n)) for n in range(2000)]
    batches.ingest_events(TRAFFIC, events)
    answer = api.get(f"{TRAFFIC_PATH}?page_size=50000")
    assert len(answer.body) == int(answer.headers["Content-Length"]) > 2**20
    assert len({event["flow_id"] for event in answer.json["data"]}) == 2000
    matching = TrafficEvent.objects.all()
    tracemalloc.start()
    pieces = pages.newest_first(TRAFFIC, matching, 0, 50_000, total=2000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * sum(map(len, pieces))


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
ends = st.fixed_dictionaries(
    {"id": texts, "address": texts.map(lambda text: text or "10.0.0.1")},
    optional={
        "type": st.sampled_from(ENDPOINT_TYPES),
        "name": texts,
        "os": st.none() | texts,
        "dns_label": texts,
        "geo_location": st.fixed_dictionaries({"city_name": texts}),
    },
)
flows = st.fixed_dictionaries(
    {"reporter_id": texts.map(lambda t: t or "r"), "source": ends, "destination": ends},
    optional={
        "flow_id": texts,
        "user": st.fixed_dictionaries({}, optional={"id": texts, "email": texts}),
        "policy": st.none() | st.fixed_dictionaries({"name": texts}),
        "icmp": st.fixed_dictionaries({"type": st.integers(0, 255)}),
        "protocol": st.integers(0, 255),
        "direction": st.sampled_from(DIRECTIONS),
        "rx_bytes": st.integers(0, 2**63 - 1),
        "num_of_drops": st.integers(0, 3),
    },
)
entries = st.fixed_dictionaries(
    {"service_id": texts.map(lambda text: text or "s")},
    optional={
        **dict.fromkeys(("host", "path", "method", "reason", "user_id"), texts),
        "status_code": st.integers(0, 999),
        "bytes_upload": st.integers(0, 2**63 - 1),
        "source_ip": st.ip_addresses().map(str),
        "metadata": st.dictionaries(texts, texts, max_size=3),
        "protocol": st.sampled_from(["http", "tcp", "udp", "HTTP", ""]),
    },
)


@pytest.mark.parametrize("examples", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_the_serializers_are_the_schema_of_the_fast_path(api: Api, examples: int):
    @settings(max_examples=examples)
    @given(
        st.lists(flows, min_size=1, max_size=4),
        st.lists(entries, min_size=1, max_size=4),
    )
    def compare(sent_flows: list[Any], sent_entries: list[Any]) -> None:
        now = moment()
        batches.ingest_events(TRAFFIC, [f | {"window_end": now} for f in sent_flows])
        batches.ingest_events(PROXY, [e | {"timestamp": now} for e in sent_entries])
        newest = api.get(f"{TRAFFIC_PATH}?page_size={len(sent_flows)}").json["data"]
        for event in newest:
            row = TrafficEvent.objects.get(id=event["id"])
            assert event == TrafficEventSerializer(row.content).data
            assert list(event) == list(TrafficEventSerializer().fields)
            assert row.source_id == event["source"]["id"]
            assert row.rx_bytes == event["rx_bytes"]
        newest = api.get(f"{PROXY_PATH}?page_size={len(sent_entries)}").json["data"]
        for entry in newest:
            stored = ProxyEntry.objects.get(id=entry["id"])
            unknown: Any = dict.fromkeys(proxy_rows.OPTIONAL, "") | {"metadata": {}}
            rendered = ProxyEntrySerializer(unknown | stored.content).data
            assert entry == {k: v for k, v in rendered.items() if k in entry}
            assert set(rendered) - set(entry) <= set(proxy_rows.OPTIONAL)

    compare()


def test_receive_timestamps_are_ours(api: Api):
    before = clock.rfc3339(clock.now()) or ""
    batches.ingest_events(TRAFFIC, [traffic(receive_timestamp="2000-01-01T00:00:00Z")])
    assert api.get(TRAFFIC_PATH).json["data"][0]["receive_timestamp"] >= before


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's compiler")
def test_connections_do_not_compile_queries():
    with connection.cursor() as cursor:
        cursor.execute("SHOW jit")
        assert cursor.fetchone() == ("off",)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL's planner")
@pytest.mark.parametrize("text", ["100.64.0.7", "ann@mesh.dev", "/a_b", "laptop"])
def test_the_trigram_index_serves_searches(text: str):
    batches.ingest_events(TRAFFIC, [traffic()])
    execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    plan = TrafficEvent.objects.filter(search__holds=text).order_by().explain()
    assert "search" in plan.partition("Index Cond")[2], plan


def test_totals_of_methods_are_right_for_unusual_ones_too(api: Api):
    entries = [proxy(method=method) for method in ("GET", "get", "PROPFIND")]
    batches.ingest_events(PROXY, [*entries, proxy(status_code=500)])
    totals = {
        "method=GET": 2,
        "method=get": 3,
        "method=PROPFIND": 1,
        "method=other": 0,
        "method=GET&status=failed": 1,
    }
    for query, total in totals.items():
        answer = api.get(f"{PROXY_PATH}?{query}").json
        assert answer["total_records"] == len(answer["data"]) == total, query
