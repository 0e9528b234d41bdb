"""Every filter of the big streams against a naive one in memory, on random questions."""

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from itertools import product
from math import ceil
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from events import directory
from events.api import filters
from events.streams import batches, pages
from events.streams.catalogue import PROXY, TRAFFIC, Stream
from events.vocabulary import CONNECTIONS, DIRECTIONS, TYPES
from meshmgmt.core import clock
from meshmgmt.core.addresses import host_of
from meshmgmt.core.registry import Registry
from tests.events.samples import moment, proxy, traffic
from tests.people import api_as
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def bounds_of_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let small offsets take the way of deep ones, and searches find many, at times."""
    monkeypatch.setattr(pages, "_SHALLOW", 3)
    monkeypatch.setattr(pages, "FEW", 20)


Event = dict[str, Any]
Params = dict[str, str]
Keep = Callable[[Event, str], bool]

# Texts that trip naive matching: wildcards, quotes, other alphabets, folding pairs.
WORDS = [
    "alpha", "ALPHA", "al%ha", "al_ha", 'qu"ote', "qu'ote", "back\\slash", "straße",
    "STRASSE", "Ünïcode", "ünÏcode", "ДОМ", "дом", "a b", "x", "日本語", "İstanbul",
    "\x1f|",
]  # fmt: skip
IDS = ["a", "A", "b%", "peer-1", "peer_1"]
MINUTES = [0, 1, 5, 90, 1440, 2000, 4000]
ADDRESSES = ["10.0.0.1", "10.0.0.1:80", "10.0.0.11", "2001:db8::1", "192.0.2.7"]


def traffic_pool() -> list[Event]:
    """Return events of every shape, two of them at each time."""
    return [
        traffic(
            id=f"event-{n:03d}",
            reporter_id=IDS[n % 5],
            user={"id": IDS[n % 4], "email": f"{WORDS[n % 17]}@x.y", "name": "-"},
            policy={"id": IDS[n % 4], "name": "-"},
            source=named(("", *IDS)[n % 4], WORDS[n % 18], ADDRESSES[n % 5]),
            destination=named(IDS[n % 2], WORDS[n % 11], ADDRESSES[n % 3]),
            protocol=(1, 6, 17, 0, 255)[n % 5],
            direction=DIRECTIONS[n % 3],
            connection_type=CONNECTIONS[n % 2],
            num_of_drops=n % 3,
            num_of_starts=n % 2,
            window_end=moment(MINUTES[n % 7] + n // 2),
            events=[{"type": TYPES[n % 4], "timestamp": moment(9999)}] if n % 3 else [],
        )
        for n in range(120)
    ]


def named(identifier: str, name: str, address: str) -> Event:
    return {"id": identifier, "name": name, "address": address}


def proxy_pool() -> list[Event]:
    """Return entries of every shape, two of them at each time."""
    return [
        proxy(
            id=f"entry-{n:03d}",
            host=("wiki.internal", "WIKI.internal", "a%b")[n % 3],
            path=f"/{WORDS[n % 18]}/{n % 7}",
            method=("GET", "POST", "PROPFIND", "get")[n % 4],
            status_code=(200, 204, 301, 401, 404, 500, 0)[n % 7],
            source_ip=("10.0.0.1", "10.0.0.11", "2001:db8::1", "")[n % 4],
            user_id=("ann", "bob", "")[n % 3],
            duration_ms=n % 9,
            reason=WORDS[n % 5],
            auth_method_used=IDS[n % 4],
            service_id=IDS[n % 5],
            country_code=("DE", "", "AR")[n % 3],
            timestamp=moment(MINUTES[n % 7] + n // 2),
        )
        for n in range(120)
    ]


def fold(text: str) -> str:
    """Return the text without letter case."""
    return text.casefold().replace("\x1f", " ")


def holds(part: str, *texts: str) -> bool:
    """Tell whether a text contains the part, letter case aside."""
    return any(fold(part) in fold(text) for text in texts)


def bounds(value: str, *, end: bool) -> datetime:
    """Return the instant a date in a query means."""
    if len(value) == 10:
        day = datetime.fromisoformat(value).date()
        return datetime.combine(day, time.max if end else time.min, UTC)
    parsed = datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def at(event: Event) -> datetime:
    """Return the time of an event."""
    return datetime.fromisoformat(event.get("window_end") or event["timestamp"])


def of_type(event: Event, value: str) -> bool:
    """Tell whether an event has the type in its list or its counters."""
    kinds = {inner["type"] for inner in event["events"]}
    counted = {
        kind
        for kind, name in zip(TYPES[1:], ("starts", "ends", "drops"), strict=True)
        if event[f"num_of_{name}"]
    }
    return value.upper() in (kinds | counted or {"TYPE_UNKNOWN"})


def is_end(end: Event, value: str) -> bool:
    """Tell whether an end has the id; the address counts where there is none."""
    return bool(value == (end["id"] or host_of(end["address"])))


def same(name: str, end: str = "") -> Keep:
    """Tell whether an event has the value in a field, of one of its ends if need be."""
    return lambda event, value: bool((event[end] if end else event).get(name) == value)


DATES: dict[str, Keep] = {
    "start_date": lambda event, value: at(event) >= bounds(value, end=False),
    "end_date": lambda event, value: at(event) <= bounds(value, end=True),
}
ENDS = ("source", "destination")
TRAFFIC_FILTERS: dict[str, Keep] = {
    **DATES,
    "reporter_id": same("reporter_id"),
    **{f"{end}_id": same("id", end) for end in ("user", "policy", *ENDS)},
    "source": lambda event, value: is_end(event["source"], value),
    "destination": lambda event, value: is_end(event["destination"], value),
    "protocol": lambda event, value: event["protocol"] == int(value),
    "type": of_type,
    "connection_type": lambda e, value: e["connection_type"] == value.upper(),
    "direction": lambda event, value: event["direction"] == value.upper(),
    "search": lambda event, value: holds(
        value,
        event["user"]["email"],
        *(event[end][name] for end, name in product(ENDS, ("name", "address"))),
    ),
}
USERS = {"ann": ("ann@straße.test", "Ann Müller"), "bob": ("bob@x.test", "Bob")}


def user_holds(event: Event, part: str, which: int) -> bool:
    """Tell whether the entry's user has the part in e-mail (0) or name (1)."""
    facts = USERS.get(event.get("user_id", ""))
    return facts is not None and holds(part, facts[which])


SAME = ("host", "service_id", "reason", "country_code", "source_ip", "user_id")
PROXY_FILTERS: dict[str, Keep] = {
    **DATES,
    **{name: same(name) for name in SAME},
    "auth_method": same("auth_method_used"),
    "exact_path": same("path"),
    "path": lambda event, value: value in event["path"],
    "method": lambda event, value: event["method"] in {value, value.upper()},
    "status_code": lambda event, value: event["status_code"] == int(value),
    "status": lambda event, value: (
        (200 <= event["status_code"] < 400) == (value.lower() == "success")
    ),
    "status_class": lambda e, value: e["status_code"] // 100 == int(value[0]),
    "user_email": lambda event, value: user_holds(event, value, 0),
    "user_name": lambda event, value: user_holds(event, value, 1),
    "search": lambda event, value: (
        holds(value, event["id"], event.get("source_ip", ""))
        or holds(value, event["host"] + event["path"])
        or any(user_holds(event, value, which) for which in (0, 1))
    ),
}

parts = st.one_of(
    st.sampled_from([*WORDS, "0.0.1", "/al", "wiki", "%", "_", "\\", "é", "ss", "S"]),
    st.text("al%_hAß.0:1 /\\\"'", min_size=1, max_size=5),
)
minutes = st.integers(-10, 4100).map(lambda n: clock.now() - timedelta(minutes=n))
dates = minutes.flatmap(
    lambda m: st.sampled_from([m, m.date(), m.replace(tzinfo=None)])
).map(lambda chosen: chosen.isoformat())


def odd_case(words: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Return the words in any letter case."""
    return st.sampled_from([*words, *(word.lower() for word in words)])


OWNERS = ("user", "reporter", "source", "destination", "policy")
traffic_params = st.fixed_dictionaries(
    {},
    optional={
        **{f"{who}_id": st.sampled_from(IDS) for who in OWNERS},
        "source": st.sampled_from([*IDS, *ADDRESSES]),
        "destination": st.sampled_from([*IDS, *ADDRESSES]),
        "protocol": st.sampled_from(["0", "1", "06", "17", "255"]),
        "type": odd_case(TYPES),
        "connection_type": odd_case(CONNECTIONS),
        "direction": odd_case(DIRECTIONS),
        "search": parts,
        "start_date": dates,
        "end_date": dates,
    },
)
proxy_params = st.fixed_dictionaries(
    {},
    optional={
        "host": st.sampled_from(["wiki.internal", "WIKI.internal", "a%b", "a"]),
        "method": st.sampled_from(["GET", "get", "POST", "PROPFIND"]),
        "status_code": st.sampled_from(["0", "200", "401", "999"]),
        "status": odd_case(("success", "failed")),
        "status_class": odd_case(("1xx", "2xx", "4xx", "5XX")),
        "service_id": st.sampled_from(IDS),
        "auth_method": st.sampled_from(IDS),
        "reason": st.sampled_from(WORDS[:6]),
        "country_code": st.sampled_from(["DE", "de", "AR"]),
        "source_ip": st.sampled_from(["10.0.0.1", "10.0.0.11", "2001:db8::1"]),
        "path": parts,
        "exact_path": st.sampled_from(
            ["/x/0", "/alpha/0", "/ALPHA/1", "/al%ha/2", "/x"]
        ),
        "user_id": st.sampled_from(["ann", "bob", "carl"]),
        "user_email": st.sampled_from(["ann", "STRASSE", "x.t", "%", "nobody"]),
        "user_name": st.sampled_from(["müll", "MÜLLER", "bob", "_", "n"]),
        "search": parts,
        "start_date": dates,
        "end_date": dates,
    },
)


def text_in(name: str) -> Callable[[Event], Any]:
    return lambda event: event.get(name, "").encode()


TEXTS = ("host", "path", "method", "source_ip", "user_id", "reason")
SORT_KEYS: dict[str, Callable[[Event], Any]] = {
    "timestamp": at,
    "url": lambda event: (event["host"].encode(), event["path"].encode()),
    "status_code": lambda event: event["status_code"],
    "duration": lambda event: event["duration_ms"],
    "auth_method": text_in("auth_method_used"),
    **{name: text_in(name) for name in TEXTS},
}


@pytest.fixture
def known_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the directory know the two users."""

    def find_users(email: str, name: str) -> set[str]:
        return {
            key
            for key, facts in USERS.items()
            if email in fold(facts[0]) and name in fold(facts[1])
        }

    monkeypatch.setattr(directory, "find_users", Registry({"tests": find_users}))


def stored(stream: Stream, events: list[Event]) -> list[Event]:
    """Store the events and return what clients should see of them."""
    batches.ingest_events(stream, events)
    rows: Any = stream.model._default_manager.all()
    return [row.content for row in rows]


def settled(examples: int) -> settings:
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck))


def asker(path: str, events: list[Event], keep: dict[str, Keep]) -> Callable[..., None]:
    """Return what compares a page with that of naive filters and sorting."""
    api = api_as("auditor")

    def ask(question: tuple[Params, str, str], page: int, size: int) -> None:
        params, sort, order = question
        matching = [
            event
            for event in events
            if all(keep[name](event, value) for name, value in params.items())
        ]
        key = SORT_KEYS[sort or "timestamp"]
        matching.sort(
            key=lambda event: (key(event), event["id"]), reverse=order.lower() != "asc"
        )
        asked: Event = {**params, "sort_by": sort, "sort_order": order}
        query = urlencode({**asked, "page": page, "page_size": size})
        first = (page - 1) * size
        assert ok(api.get(f"{path}?{query}")) == {
            "data": matching[first : first + size],
            "page": page,
            "page_size": size,
            "total_records": len(matching),
            "total_pages": ceil(len(matching) / size),
        }

    return ask


@pytest.mark.parametrize("examples", [120, pytest.param(400, marks=pytest.mark.slow)])
def test_traffic_filters_answer_like_naive_ones(examples: int):
    events = stored(TRAFFIC, traffic_pool())
    questions = st.tuples(traffic_params, st.just(""), st.just("desc"))
    sizes = st.sampled_from([1, 7, 50, 1000])
    ask = asker("/api/events/network-traffic", events, TRAFFIC_FILTERS)
    settled(examples)(given(questions, st.integers(1, 4), sizes)(ask))()


@pytest.mark.usefixtures("known_users")
@pytest.mark.parametrize("examples", [120, pytest.param(400, marks=pytest.mark.slow)])
def test_proxy_filters_answer_like_naive_ones(examples: int):
    events = stored(PROXY, proxy_pool())
    orders = st.sampled_from(["", "asc", "desc", "DESC"])
    questions = st.tuples(proxy_params, st.sampled_from(["", *SORT_KEYS]), orders)
    sizes = st.sampled_from([1, 7, 100])
    ask = asker("/api/events/proxy", events, PROXY_FILTERS)
    settled(examples)(given(questions, st.integers(1, 3), sizes)(ask))()


@pytest.mark.usefixtures("known_users")
def test_searches_take_every_character_literally():
    api = api_as("auditor")
    flows = stored(TRAFFIC, traffic_pool())
    entries = stored(PROXY, proxy_pool())
    searches = (
        ("network-traffic", flows, "search", TRAFFIC_FILTERS["search"]),
        ("proxy", entries, "search", PROXY_FILTERS["search"]),
        ("proxy", entries, "path", PROXY_FILTERS["path"]),
    )
    parts = [*WORDS, "%", "_", "\\", "/al", "0.0.1", "ss"]
    for part, (path, events, name, keep) in product(parts, searches):
        query = urlencode({name: part, "page_size": 100})
        answer = api.get(f"/api/events/{path}?{query}").json
        expected = [event["id"] for event in events if keep(event, part)]
        assert [event["id"] for event in answer["data"]] == expected[:100], query
        assert answer["total_records"] == len(expected)


def test_a_short_search_looks_at_the_newest_rows_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(filters, "SHORT_SEARCH_ROWS", 10)
    flows = stored(TRAFFIC, traffic_pool())
    answer = api_as("auditor").get("/api/events/network-traffic?search=ha&protocol=6")
    among = [event for event in flows if event["protocol"] == 6][:10]
    expected = [e["id"] for e in among if TRAFFIC_FILTERS["search"](e, "ha")]
    assert 0 < len(expected) < 10
    assert [event["id"] for event in answer.json["data"]] == expected
    assert answer.headers["X-Search-Scope"] == "newest-10"


def test_a_long_search_looks_at_everything():
    answer = api_as("auditor").get("/api/events/network-traffic?search=xyz")
    assert "X-Search-Scope" not in answer.headers


@pytest.mark.parametrize(
    ("start", "found"),
    [("-90s", 1), ("-1h", 2), ("-2d", 3), ("-1W", 3), ("2000-01-01", 4)],
)
def test_dates_count_back_from_now(start: str, found: int):
    for minutes in (1, 30, 60 * 30, 60 * 24 * 8):
        batches.ingest_events(TRAFFIC, [traffic(window_end=moment(minutes))])
    answer = api_as("auditor").get(f"/api/events/network-traffic?start_date={start}")
    assert answer.json["total_records"] == found
