"""Which of JSON and the export formats an `Accept` header prefers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshmgmt.api.renderers import accepted_ranges, quality
from tests.api_client import Api
from tests.people import api_as

pytestmark = pytest.mark.django_db

PATH = "/api/events/audit?target_id=nobody"
JSON, CSV, LINES = "application/json", "text/csv", "application/x-ndjson"


@pytest.fixture
def auditor() -> Api:
    return api_as("auditor")


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("text/csv", CSV),
        ("TEXT/CSV ; Header=present", CSV),
        ("application/x-ndjson", LINES),
        ("application/*", JSON),
        ("text/*", CSV),
        ("text/csv, */*", JSON),
        ("text/csv, */*;q=0.8", CSV),
        ("text/csv, application/json", JSON),
        ("text/csv;q=0, application/json", JSON),
        ("text/csv;q=0.1, application/json;q=0.9", JSON),
        ("text/csv;q=0.9, application/json;q=0.1", CSV),
        ("text/csv;q=0.5, application/x-ndjson;q=0.501", LINES),
        ("text/csv; Q=0.0, */*;q=0.1", JSON),
        ("application/json;q=0, */*", LINES),
        ("text/csv;q=0", JSON),
        ("text/csv;q=1.1", JSON),
        ("text/csv;q=high", JSON),
        ("text/html,application/xml;q=0.9,*/*;q=0.8", JSON),
        ('text/html;a=", text/csv", application/xml', JSON),
        ("garbage; ;;,,=", JSON),
    ],
)
def test_the_preferred_format_is_sent_and_json_among_equals(
    auditor: Api, accept: str | None, chosen: str
):
    headers = {} if accept is None else {"Accept": accept}
    answer = auditor.get(PATH, **headers)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == f"{chosen}; charset=UTF-8"


@given(st.text(alphabet='*/;,=q01. "\\ab\t', max_size=40))
def test_any_header_gives_qualities_from_0_to_1(header: str):
    accepted = accepted_ranges(header)
    assert all(0 <= weight <= 1 for weight in accepted.values())
    assert 0 <= quality("a/b", accepted) <= 1
