"""Query strings that are not UTF-8 are refused, naming the parameter."""

import pytest
from django.test import RequestFactory

from meshmgmt.api.requests import require_utf8
from meshmgmt.core.errors import BadRequest
from tests.people import api_as

BROKEN = ["%ff", "%F0%9F", "%ED%A0%80", "%C0%AF", "a%80b", "%E2%82", "%F4%90%80%80"]


def refused(query: str) -> list[str]:
    """Return the parameters that are named as broken."""
    request = RequestFactory().get("/", QUERY_STRING=query)
    try:
        require_utf8(request)
    except BadRequest as error:
        return [fault.field for fault in error.errors]
    return []


@pytest.mark.parametrize("value", BROKEN)
def test_broken_utf8_is_refused_by_name(value: str):
    query = f"page=1&search={value}&path=x&user_id={value}"
    assert refused(query) == ["search", "user_id"]


def test_bytes_that_nobody_escaped_are_read_too():
    assert refused("search=\xff") == ["search"]
    assert refused("search=" + "ÿ".encode().decode("latin-1")) == []


def test_a_broken_name_is_shown_as_far_as_it_can_be_read():
    assert refused("%ff=1") == ["\ufffd"]
    assert refused(f"{'n' * 300}%ff") == ["n" * 64]
    assert refused("a+b=%ff&a+b=%fe") == ["a b"]


FINE = [
    "",
    "&&",
    "=",
    "search",
    "search=%C3%BF",
    "q=%F0%9F%92%A9+%EF%BF%BD",
    "a=%zz",
    "%",
]


@pytest.mark.parametrize("query", FINE)
def test_utf8_passes(query: str):
    assert refused(query) == []


STREAMS = ["events/network-traffic", "events/proxy", "events/audit"]
LISTS = [
    *STREAMS,
    *(f"{stream}/summary" for stream in STREAMS),
    "groups",
    "peers",
    "users",
]


@pytest.mark.django_db
@pytest.mark.parametrize("path", LISTS)
def test_every_list_refuses_broken_utf8(path: str):
    answer = api_as("owner").get(f"/api/{path}?search=%ff")
    assert (answer.status, list(answer.fields)) == (400, ["search"])
    assert answer.json["message"].startswith("search: ")


@pytest.mark.django_db
def test_who_asks_is_found_out_first():
    assert api_as("user").get("/api/events/proxy?search=%ff").status == 403
