"""The audit trail is filtered, paged, followed and exported."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode

import orjson
import pytest
from django.db import connection
from django.http import QueryDict
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events.activities import Activity
from events.api import filters
from events.api.audit import (
    AuditEventDetailSerializer,
    AuditEventSerializer,
    AuditFilterSet,
    expand_codes,
)
from events.audit import reading
from events.models import AuditEvent
from tests.api_client import Answer, Api
from tests.people import api_as

pytestmark = pytest.mark.django_db

PATH = "/api/events/audit"
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
CODES = ["group.add", "group.delete", "peer.group.add", "dns.zone.create", "route.add"]
NAMES = ["Ann Müller", "Bob_1", "100% Carl", "STRASSE", 'quo"te', "=cmd()"]

LISTED = [
    *("id", "timestamp", "activity", "activity_code", "initiator_id", "initiator_name"),
    *("initiator_email", "target_id", "meta"),
]
MORE = ["target_type", "changes", "request_id", "source_address", "token_id"]

Event = dict[str, Any]


def changes_of(number: int) -> Event:
    return {
        "name": {"before": f"Öld {number}", "after": f"thing {number}"},
        "peers": {"added": [f"peer-{number % 5}"], "removed": []},
    }


@pytest.fixture
def api() -> Api:
    """A reader of 60 events, two at each time; ids do not always follow the times."""
    reader = api_as("auditor")
    AuditEvent.objects.prune()
    AuditEvent.objects.bulk_create(
        AuditEvent(
            timestamp=START + timedelta(minutes=(number * 7 % 60) // 2),
            activity_code=CODES[number % 5],
            initiator_id=f"user-{number % 3}",
            initiator_name=NAMES[number % 6],
            initiator_email=f"u{number % 4}@mesh.dev",
            target_id=f"object-{number % 7}",
            target_type="group",
            meta={"name": f"thing {number}"},
            changes=changes_of(number),
            request_id=f"req{number:03d}",
            source_address="192.0.2.1",
            token_id=f"tok-{number % 4}",
        )
        for number in range(60)
    )
    return reader


def ids(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.json
    return [event["id"] for event in answer.json]


def expected_ids() -> list[str]:
    rows = sorted(AuditEvent.objects.all(), key=lambda row: (row.timestamp, row.id))
    return [str(row.id) for row in reversed(rows)]


def link(answer: Answer, relation: str) -> str | None:
    """Return the address of a relation in the Link header."""
    for part in answer.headers.get("Link", "").split(", "):
        address, _, kind = part.partition("; ")
        if kind == f'rel="{relation}"':
            return str(address.strip("<>"))
    return None


def test_without_parameters_the_newest_come_first(api: Api):
    answer = api.get(PATH)
    assert ids(answer) == expected_ids()
    assert answer.headers["X-Total-Count"] == "60"
    assert link(answer, "next") is None
    assert ids(api.get("/api/events")) == ids(answer)


def test_at_most_ten_thousand_come_at_once(api: Api, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("events.api.audit.AuditPageForm.default_size", 50)
    answer = api.get(PATH)
    assert len(answer.json) == 50
    following = link(answer, "next")
    assert following is not None
    assert ids(answer) + ids(api.get(following)) == expected_ids()


def test_an_event_has_the_fields_of_the_contract(api: Api):
    first = api.get(PATH).json[0]
    assert list(first) == list(AuditEventSerializer().fields) == LISTED
    assert first["activity"] == Activity(first["activity_code"]).label
    row = AuditEvent.objects.get(id=first["id"])
    assert first["initiator_name"] == row.initiator_name
    assert first["timestamp"].endswith("Z")


def test_pages_cover_everything_once_and_past_the_end_lead_back(api: Api):
    pages = [api.get(f"{PATH}?page={number}&page_size=25") for number in (1, 2, 3)]
    assert [identifier for page in pages for identifier in ids(page)] == expected_ids()
    following = parse_qs(str(link(pages[0], "next")).partition("?")[2])
    assert following == {"page": ["2"], "page_size": ["25"]}
    assert link(pages[2], "next") is None
    assert link(pages[0], "prev") is None
    assert ids(api.get(str(link(pages[2], "prev")))) == ids(pages[1])
    assert ids(api.get(str(link(pages[2], "first")))) == ids(pages[0])
    beyond = api.get(f"{PATH}?page=9&page_size=25")
    assert ids(beyond) == []
    assert link(beyond, "next") is None
    assert ids(api.get(str(link(beyond, "prev")))) == expected_ids()[50:]


def added(ago: int) -> str:
    """Write an event so many days before the others; return its id."""
    moment = START - timedelta(days=ago)
    [event] = AuditEvent.objects.bulk_create(
        [AuditEvent(timestamp=moment, activity_code="route.add")]
    )
    return str(event.pk)


def test_cursors_cover_everything_once_while_events_arrive_and_lead_back(api: Api):
    everything = expected_ids()
    pages = [api.get(f"{PATH}?page_size=7")]
    assert link(pages[0], "prev") is None
    while address := link(pages[-1], "next"):
        added(-1)
        pages.append(api.get(address))
    assert [one for page in pages for one in ids(page)] == everything
    answer = pages.pop()
    while pages:
        answer = api.get(str(link(answer, "prev")))
        assert ids(answer) == ids(pages.pop())


def test_a_follower_misses_nothing_whatever_the_times(api: Api):
    address = str(link(api.get(f"{PATH}?page_size=1"), "monitor"))
    # A shifted clock may write older times; ids alone tell what is new.
    written = [added(number) for number in range(5)]
    followed: list[str] = []
    for _ in range(5):
        address = address.replace("page_size=1", "page_size=2")
        answer = api.get(address)
        followed += sorted(ids(answer), key=int)
        address = str(link(answer, "monitor"))
    assert followed == written
    assert ids(api.get(address)) == []


def test_codes_may_be_patterns_and_repeated(api: Api):
    answer = api.get(f"{PATH}?activity_code=group.*&activity_code=ROUTE.ADD")
    found = {event["activity_code"] for event in answer.json}
    assert found == {"group.add", "group.delete", "route.add"}
    assert answer.headers["X-Total-Count"] == "36"


def test_a_cursor_and_a_page_exclude_each_other(api: Api):
    assert list(api.get(f"{PATH}?cursor=after.1&page=2").fields) == ["cursor"]


def test_one_event_shows_before_and_after(api: Api):
    row = AuditEvent.objects.order_by("id")[3]
    event = api.get(f"{PATH}/{row.id}").json
    assert list(event) == list(AuditEventDetailSerializer().fields)
    assert sorted(event) == sorted([*LISTED, *MORE])
    assert event["changes"] == changes_of(3)
    told = event["request_id"], event["source_address"], event["token_id"]
    assert told == ("req003", "192.0.2.1", "tok-3")


def test_an_id_is_spelt_one_way_alone(api: Api):
    identifier = AuditEvent.objects.order_by("id")[0].id
    assert api.get(f"{PATH}/{identifier}").status == 200
    for other in (f"0{identifier}", f"{identifier}%20", f"%2B{identifier}"):
        assert api.get(f"{PATH}/{other}").status == 404


def test_a_group_finds_its_own_events_and_those_of_its_members(api: Api):
    about = {"group": "Staff", "group_id": "staff-1"}
    facts: list[dict[str, Any]] = [
        {"activity_code": "group.add", "target_id": "staff-1"},
        {"activity_code": "peer.group.delete", "meta": about},
        {"activity_code": "group.add", "target_id": "staff-10"},
        {"activity_code": "route.add", "meta": {"name": "staff-1"}},
    ]
    written = AuditEvent.objects.bulk_create(
        AuditEvent(timestamp=START + timedelta(days=1, minutes=n), **given)
        for n, given in enumerate(facts)
    )
    expected = [str(written[1].pk), str(written[0].pk)]
    assert ids(api.get(f"{PATH}?group_id=staff-1")) == expected


def test_an_id_too_short_for_a_group_is_not_looked_for():
    found = AuditFilterSet(QueryDict("group_id=st"), AuditEvent.objects.all()).qs
    with CaptureQueriesContext(connection) as asked:
        assert list(found) == []
    assert not asked.captured_queries


def test_kind_of_target_and_address_narrow(api: Api):
    for name in ("target_type", "source_address"):
        AuditEvent(activity_code="group.add", **{name: "other"}).save()
        [found] = ids(api.get(f"{PATH}?{name}=other"))
        assert api.get(f"{PATH}/{found}").json[name] == "other"


def test_an_export_of_lines_holds_everything(api: Api, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "_CHUNK", 7)
    answer = api.get(f"{PATH}?activity_code=group.*", Accept="application/x-ndjson")
    assert answer.headers["Content-Type"] == "application/x-ndjson; charset=UTF-8"
    events = [orjson.loads(line) for line in answer.body.splitlines()]
    listed = ids(api.get(f"{PATH}?activity_code=group.*"))
    assert [event["id"] for event in events] == listed
    assert events[0]["changes"]["name"]["before"].startswith("Öld")


def test_an_export_as_csv_holds_everything_and_runs_no_formula(api: Api):
    answer = api.get(PATH, Accept="text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    assert [row["id"] for row in rows] == expected_ids()
    assert orjson.loads(rows[0]["meta"])["name"].startswith("thing ")
    assert "'=cmd()" in {row["initiator_name"] for row in rows}
    assert not any(row["initiator_name"].startswith("=") for row in rows)


def test_an_export_of_a_page_is_that_page(api: Api):
    answer = api.get(f"{PATH}?page=2&page_size=10", Accept="application/x-ndjson")
    assert len(answer.body.splitlines()) == 10
    assert answer.headers["X-Total-Count"] == "60"


def test_an_export_costs_few_queries_and_a_list_a_fixed_number(
    api: Api, django_assert_max_num_queries: Any
):
    with django_assert_max_num_queries(6):
        api.get(PATH)
    with django_assert_max_num_queries(6):
        api.get(PATH, Accept="application/x-ndjson")


def test_short_searches_look_at_the_newest_rows(
    api: Api, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(filters, "SHORT_SEARCH_ROWS", 12)
    answer = api.get(f"{PATH}?search=b_")
    newest = set(expected_ids()[:12])
    bobs = AuditEvent.objects.filter(initiator_name="Bob_1")
    assert set(ids(answer)) == {str(row.id) for row in bobs} & newest
    assert answer.headers["X-Search-Scope"] == "newest-12"


def matches(event: Event, name: str, value: str) -> bool:
    """Tell whether an event, with its details, passes a filter."""
    if name in {"initiator_id", "user_id", "target_id"}:
        return bool(event[name.replace("user", "initiator")] == value)
    if name == "activity_code":
        return event["activity_code"] in expand_codes([value])
    moment = datetime.fromisoformat(event["timestamp"])
    if name == "start_date":
        return moment >= datetime.fromisoformat(value)
    if name == "end_date":
        return moment <= datetime.fromisoformat(value)
    texts = [event[key] for key in ("activity_code", "activity", "initiator_id")]
    texts += [event[key] for key in ("initiator_name", "initiator_email", "target_id")]
    texts += [*event["meta"].values(), event["source_address"], event["request_id"]]
    changes = event["changes"]
    texts += [changes["name"]["before"], *changes["peers"]["added"], event["token_id"]]
    return any(value.casefold() in text.casefold() for text in texts)


PARTS = ["MÜLLER", "0%", "_1", "straße", "thing 1", "u1@", "req00", "ADD", "zz"]
PARTS += ["öld 1", "PEER-3", "tok-2"]
moments = st.integers(-2, 31).map(lambda n: (START + timedelta(minutes=n)).isoformat())
questions = st.fixed_dictionaries(
    {},
    optional={
        "initiator_id": st.sampled_from(["user-0", "user-1", "nobody"]),
        "user_id": st.sampled_from(["user-0", "user-2"]),
        "target_id": st.sampled_from(["object-0", "object-6"]),
        "activity_code": st.sampled_from(["group.*", "*.add", "dns.zone.create", "*"]),
        "start_date": moments,
        "end_date": moments,
        "search": st.sampled_from([*NAMES, *PARTS]),
    },
)


@pytest.mark.parametrize("examples", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_filters_answer_like_naive_ones(api: Api, examples: int):
    whole = api.get(PATH, Accept="application/x-ndjson").body
    details = [orjson.loads(line) for line in whole.splitlines()]

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(questions, st.sampled_from([3, 1000]))
    def ask(params: dict[str, str], size: int) -> None:
        wanted = [
            event["id"]
            for event in details
            if all(matches(event, name, value) for name, value in params.items())
        ]
        answer = api.get(f"{PATH}?{urlencode({**params, 'page_size': size})}")
        assert ids(answer) == wanted[:size]
        assert answer.headers["X-Total-Count"] == str(len(wanted))

    ask()
