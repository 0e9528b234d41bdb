"""The two big streams as files: lines of JSON, or CSV."""

import csv
import io
import re
import tracemalloc
from functools import partial
from typing import Any

import orjson
import pytest
from django.db import connection

from events.models import ProxyEntry, TrafficEvent
from events.streams import batches, pages
from events.streams.catalogue import PROXY, TRAFFIC
from meshmgmt.env import BASE_DIR
from tests.api_client import Answer, Api
from tests.events.samples import (
    AUDIT_PATH,
    PROXY_PATH,
    TRAFFIC_PATH,
    moment,
    proxy,
    traffic,
)
from tests.people import api_as

pytestmark = pytest.mark.django_db

CSV, LINES = "text/csv", "application/x-ndjson"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """A reader of 50 events in each stream, some at the same time, read in small steps."""
    monkeypatch.setattr(pages, "_PIECE_ROWS", 7)
    times = [moment(number // 4) for number in range(50)]
    flows = [traffic(id=f"flow-{n}", window_end=t) for n, t in enumerate(times)]
    batches.ingest_events(TRAFFIC, flows)
    entries = [
        proxy(id=f"entry-{n}", timestamp=t, status_code=200 + n % 4 * 100)
        for n, t in enumerate(times)
    ]
    batches.ingest_events(PROXY, entries)
    return api_as("auditor")


def listed(api: Api, path: str) -> list[dict[str, Any]]:
    answer = api.get(path)
    events: list[dict[str, Any]] = answer.json["data"]
    assert answer.json["total_records"] == len(events)
    return events


def lines(answer: Answer) -> list[dict[str, Any]]:
    assert answer.headers["Content-Type"] == "application/x-ndjson; charset=UTF-8"
    return [orjson.loads(line) for line in answer.body.splitlines()]


def table(answer: Answer) -> list[dict[str, str]]:
    assert answer.headers["Content-Type"] == "text/csv; charset=UTF-8"
    return list(csv.DictReader(io.StringIO(answer.body.decode())))


@pytest.mark.parametrize(
    ("path", "name", "time"),
    [(TRAFFIC_PATH, "traffic", "window_end"), (PROXY_PATH, "proxy", "timestamp")],
)
def test_an_export_holds_everything_newest_first_and_goes_on_behind_what_arrived(
    api: Api, path: str, name: str, time: str
):
    everything = listed(api, f"{path}?page_size=100")
    for accept, rows_of, ending in ((LINES, lines, "ndjson"), (CSV, table, "csv")):
        answer = api.get(path, Accept=accept)
        whole = rows_of(answer)
        assert [row["id"] for row in whole] == [event["id"] for event in everything]
        assert accept == CSV or whole == everything
        disposition = f'attachment; filename="{name}.{ending}"'
        assert answer.headers["Content-Disposition"] == disposition
        for number in (0, 1, 6, 30, 49):
            last = everything[number]
            query = f"{path}?after={last[time]},{last['id']}"
            assert rows_of(api.get(query, Accept=accept)) == whole[number + 1 :]


def test_a_place_that_leads_nowhere_is_refused():
    reader, moment = api_as("auditor"), "2026-11-20T10:00:00Z"
    for query, accept in (
        ("soon,flow-1", LINES),
        (moment, LINES),
        (f"{moment},a%00", CSV),
        (f"{moment},a&page=1", LINES),
        (f"{moment},a", "application/json"),
    ):
        answer = reader.get(f"{TRAFFIC_PATH}?after={query}", Accept=accept)
        assert (answer.status, list(answer.fields)) == (400, ["after"]), query


def test_an_export_follows_the_filters(api: Api):
    query = f"{PROXY_PATH}?status_class=5xx"
    found = lines(api.get(query, Accept=LINES))
    assert found == listed(api, query)
    assert {event["status_code"] for event in found} == {500}


def test_an_export_of_a_page_is_that_page(api: Api):
    query = f"{PROXY_PATH}?page=2&page_size=10&sort_by=status_code&sort_order=asc"
    assert lines(api.get(query, Accept=LINES)) == api.get(query).json["data"]
    query = f"{TRAFFIC_PATH}?page=2&page_size=10"
    assert lines(api.get(query, Accept=LINES)) == api.get(query).json["data"]
    assert len(table(api.get(query, Accept=CSV))) == 10


def test_a_whole_export_cannot_be_sorted_otherwise(api: Api):
    answer = api.get(f"{PROXY_PATH}?sort_by=host", Accept=CSV)
    assert (answer.status, list(answer.fields)) == (400, ["sort_by"])
    newest = api.get(f"{PROXY_PATH}?sort_by=timestamp&sort_order=desc", Accept=CSV)
    assert newest.status == 200


def test_columns_of_csv_are_those_of_the_documentation_in_its_order():
    paths = {"audit": AUDIT_PATH, "traffic": TRAFFIC_PATH, "proxy": PROXY_PATH}
    reader = api_as("auditor")
    for name, path in paths.items():
        heading, _, _ = reader.get(path, Accept=CSV).body.decode().partition("\r\n")
        assert heading.split(",") == _documented(name)


def _documented(name: str) -> list[str]:
    """Return the columns that the chapter lists."""
    chapter = (BASE_DIR / "docs/events.md").read_text()
    [item] = re.findall(rf"^- {name}: ((?:.+\n)+?)(?=- |\n)", chapter, re.MULTILINE)
    found = re.findall(r"`(\w+)`", item)
    if "destination_" in found:  # "the same with"
        place = found.index("destination_")
        sources = [column for column in found if column.startswith("source_")]
        found[place : place + 1] = [
            column.replace("source_", "destination_") for column in sources
        ]
    return found


def test_csv_writes_objects_flat_and_runs_no_formula(api: Api):
    source = {"name": "=cmd()", "geo_location": {"country_code": "DE"}}
    new: dict[str, Any] = {"id": "new", "window_end": moment(-1), "num_of_drops": 2}
    batches.ingest_events(TRAFFIC, [traffic(source=source, **new)])
    first = table(api.get(TRAFFIC_PATH, Accept=CSV))[0]
    assert first["source_name"] == "'=cmd()"
    assert first["source_geo_location_country_code"] == "DE"
    assert (first["num_of_drops"], first["source_os"]) == ("2", "")
    entry = proxy(id="new", timestamp=moment(-1), metadata={"peer_name": "db"})
    batches.ingest_events(PROXY, [entry])
    first = table(api.get(PROXY_PATH, Accept=CSV))[0]
    assert orjson.loads(first["metadata"]) == {"peer_name": "db"}
    assert first["reason"] == ""


@pytest.mark.parametrize(
    ("query", "heading"),
    [
        (f"{PROXY_PATH}?host=nobody", b"id,service_id,timestamp,"),
        (f"{AUDIT_PATH}?target_id=nobody", b"id,timestamp,"),
    ],
)
def test_an_empty_export_has_its_heading(api: Api, query: str, heading: bytes):
    answer = api.get(query, Accept=CSV)
    assert answer.body.startswith(heading)
    assert answer.body.count(b"\n") == 1
    assert api.get(query, Accept=LINES).body == b""


def test_what_is_sent_is_answered_in_json_whatever_is_accepted():
    answer = api_as("admin").post(PROXY_PATH, [proxy(id="sent")], Accept=CSV)
    assert answer.json == {"accepted": 1, "duplicates": 0}


def test_an_export_needs_leave_to_read():
    assert api_as("user").get(TRAFFIC_PATH, Accept=CSV).status == 403


def test_a_short_search_says_how_far_it_looked(api: Api):
    for query, count in (
        ("proxy?search=wi", 50),
        ("audit?search=zq", 0),
        ("audit?search=zq&page=1", 0),
    ):
        answer = api.get(f"/api/events/{query}", Accept=LINES)
        assert answer.headers["X-Search-Scope"] == "newest-100000"
        assert len(lines(answer)) == count


def test_an_export_takes_memory_for_a_piece_of_it_only(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pages, "_PIECE_ROWS", 200)
    flows = [traffic(destination={"name": "x" * 250}) for _ in range(1800)]
    batches.ingest_events(TRAFFIC, flows)
    bodies = TrafficEvent.objects.values_list("body", flat=True)
    whole = sum(map(len, bodies))
    for pieces_of in (pages.ndjson_pieces, partial(pages.csv_pieces, TRAFFIC)):
        connection.queries_log.clear()
        tracemalloc.start()
        texts = pages.every_text(TRAFFIC, TrafficEvent.objects.all())
        sent = sum(map(len, pieces_of(texts)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sent > whole / 3
        assert peak < whole / 2


def test_an_entry_that_arrives_meanwhile_is_given_once_at_most(api: Api):
    del api
    texts = pages.every_text(PROXY, ProxyEntry.objects.all())
    seen = [orjson.loads(text)["id"] for text in next(texts)]
    arriving = {"late": moment(10), "now": moment(-1)}
    entries = [proxy(id=name, timestamp=time) for name, time in arriving.items()]
    batches.ingest_events(PROXY, entries)
    seen += [orjson.loads(text)["id"] for chunk in texts for text in chunk]
    assert len(seen) == len(set(seen)) == 51
    assert "late" in seen
