"""Transport rules of every path: errors, ids, hosts, slashes, methods, origins."""

import re
from dataclasses import replace
from ipaddress import ip_network
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from events.api import audit
from events.api.audit import HEAD_HEADER
from events.api.pagination import PRECISION_HEADER
from events.models import AuditEvent
from meshmgmt.core.ids import is_id
from tests.api_client import Answer, Api
from tests.logscan import LogScan
from tests.people import api_of, person, token_of
from tests.resource_contract import ok

pytestmark = pytest.mark.django_db

PATH = "/api/events/audit"
LOOPBACK = (ip_network("127.0.0.0/8"),)


def assert_error(answer: Answer, status: int, *parts: str) -> None:
    assert (answer.status, answer.json["code"]) == (status, status)
    assert answer.headers["Content-Type"] == "application/json; charset=UTF-8"
    assert is_id(answer.headers["X-Request-Id"])
    for part in parts:
        assert part in answer.json["message"]


def test_success_is_200_with_json(api: Api):
    answer = api.get(PATH)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json; charset=UTF-8"
    assert answer.body.endswith(b"\n")


UNKNOWN = ["/api", "/api/nothing", "/api/%00", "/api//", "/api/groups/a/b/c"]


@pytest.mark.parametrize("path", [*UNKNOWN, "/nothing"])
def test_unknown_path_is_404_in_the_common_shape(api: Api, path: str):
    assert_error(api.get(path), 404, "not found")


@pytest.mark.parametrize("page", ["change", "delete", "history", "members"])
def test_a_page_of_an_id_with_a_nul_is_404(client: Client, page: str):
    assert client.get(f"/admin/groups/group/%00/{page}/").status_code == 404


@pytest.mark.parametrize("query", ["id=%00", "group=%00", "name__contains=a%00"])
def test_a_filter_with_a_nul_finds_nothing(client: Client, query: str):
    # PostgreSQL refuses the question, SQLite looks in vain.
    answer = client.get(f"/admin/groups/group/?{query}")
    assert answer.status_code in (200, 302, 400)


@pytest.mark.parametrize("path", ["groups/group", "inventory/peer", "access/invite"])
def test_a_nul_among_chosen_objects_fails_nothing(client: Client, path: str):
    sent = {"action": "delete_selected", "_selected_action": "\0", "index": 0}
    assert client.post(f"/admin/{path}/", sent).status_code in (200, 302, 400)


def test_one_trailing_slash_is_the_same_resource(api: Api):
    assert api.get(PATH + "/").status == 200


def test_answers_announce_their_length(api: Api):
    for answer in (api.get(PATH), api.get("/api/nothing")):
        assert int(answer.headers["Content-Length"]) == len(answer.body)


@pytest.mark.parametrize("path", [f"/{PATH}", PATH.replace("/", "//"), f"{PATH}//"])
def test_repeated_slashes_count_as_one(api: Api, path: str):
    # The test client takes what follows leading slashes for a host.
    headers = {"Authorization": f"Token {api.token}"}
    answer = api.client.get("/", PATH_INFO=path, headers=headers)
    assert (answer.status_code, answer.content) == (200, api.get(PATH).body)
    assert api.client.get("/", PATH_INFO=path).status_code == 401


def test_an_encoded_slash_is_part_of_an_id_that_nothing_has(api: Api):
    headers = {"Authorization": f"Token {api.token}"}
    for path, uri, status in (
        (f"{PATH}//", f"{PATH}/%2F?x=%2F", 404),
        (f"/{PATH}//", f"/{PATH}/%2F", 404),
        (f"{PATH}//", f"{PATH}//?x=%2F", 200),
    ):
        given: Any = {"PATH_INFO": path, "RAW_URI": uri}
        answer = api.client.get("/", headers=headers, **given)
        assert answer.status_code == status, uri


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "PUT", "TRACE", "PROPFIND"])
@pytest.mark.parametrize("path", [PATH, "/api/groups"])
def test_wrong_method_is_405_and_lists_the_right_ones(api: Api, path: str, method: str):
    answer = api.call(method, path, {})
    assert_error(answer, 405, "not allowed")
    assert "GET" in answer.headers["Allow"]


def test_head_answers_like_get_without_a_body(api: Api):
    answer = api.call("HEAD", PATH)
    assert (answer.status, answer.body) == (200, b"")


def test_options_lists_the_methods(api: Api):
    assert "GET" in ok(api.call("OPTIONS", PATH))["methods"]


@pytest.mark.parametrize(
    "header",
    ["", "Token", "Token a b", "Basic abc", "Token mpt_wrong", "Bearer nothing", "x\0"],
)
def test_bad_credentials_are_401_with_a_challenge(header: str):
    answer = Api().get(PATH, Authorization=header)
    assert_error(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith("Token")


def test_every_answer_has_its_own_request_id(api: Api):
    first, second = (api.get(PATH).headers["X-Request-Id"] for _ in range(2))
    assert first != second


@pytest.mark.parametrize("networks", [(), LOOPBACK])
def test_request_id_is_taken_over_from_a_trusted_proxy_alone(
    api: Api, settings, networks: Any
):
    settings.SVC = replace(settings.SVC, trusted_proxies=networks)
    answer = api.get(PATH, **{"X-Request-Id": "chosen-by-it"})
    taken_over = answer.headers["X-Request-Id"] == "chosen-by-it"
    assert taken_over is bool(networks)


def test_a_request_id_that_events_have_no_room_for_is_not_taken_over(
    api: Api, settings
):
    settings.SVC = replace(settings.SVC, trusted_proxies=LOOPBACK)
    theirs = "0b5d3c2e-9b4b-4f1c-8a56-6a1d7f3a9e11"
    answer = api.post("/api/groups", {"name": "team"}, **{"X-Request-Id": theirs})
    ok(answer)
    assert is_id(answer.headers["X-Request-Id"])
    assert AuditEvent.objects.filter(request_id=answer.headers["X-Request-Id"]).exists()


@pytest.mark.parametrize(
    ("connected", "forwarded", "source"),
    [
        ("127.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("::ffff:127.0.0.1", "192.0.2.7", "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7:40001", "192.0.2.7"),
        ("127.0.0.1", "192.0.2.7, ::ffff:127.0.0.9", "192.0.2.7"),
        ("127.0.0.1", "6.6.6.6, [2001:db8::1]:443", "2001:db8::1"),
        ("127.0.0.1", "6.6.6.6, unknown", "127.0.0.1"),
        ("127.0.0.1", '6.6.6.6, "[2001:db8::1]:443"', "2001:db8::1"),
        ("127.0.0.1", "6.6.6.6, 192.0.2.7,,\t127.0.0.9", "192.0.2.7"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("198.51.100.1", "192.0.2.7", "198.51.100.1"),
        ("", "192.0.2.7", "192.0.2.7"),
    ],
)
def test_trusted_proxies_name_the_client_to_the_trail_and_the_log(
    api: Api,
    settings,
    log_scan: LogScan,
    *,
    connected: str,
    forwarded: str,
    source: str,
):
    settings.SVC = replace(settings.SVC, trusted_proxies=LOOPBACK)
    api.client.defaults["REMOTE_ADDR"] = connected
    answer = api.post("/api/groups", {"name": "team"}, **{"X-Forwarded-For": forwarded})
    request_id = answer.headers["X-Request-Id"]
    event = AuditEvent.objects.get(request_id=request_id)
    assert event.source_address == source
    lines = [line for line in log_scan.lines if request_id in line and "source" in line]
    assert [f'"source":"{source}"' in line for line in lines] == [True, True]


@pytest.mark.parametrize("networks", [(), LOOPBACK])
@pytest.mark.parametrize(
    ("said", "is_secure"),
    [("https", True), ("HTTPS", True), ("http, https", True), ("https, http", False)],
)
def test_https_is_what_trusted_proxies_alone_say(
    settings, networks: Any, said: str, is_secure: bool
):
    settings.SVC = replace(settings.SVC, trusted_proxies=networks)
    browser = Client(headers={"X-Forwarded-Proto": said})
    browser.get("/admin/login/")
    wanted = is_secure and bool(networks)
    assert bool(browser.cookies["csrftoken"]["secure"]) is wanted


@pytest.mark.parametrize("networks", [(), LOOPBACK])
@pytest.mark.parametrize("secret", ["", "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln"])
def test_token_sent_as_request_id_is_neither_logged_nor_kept(
    settings, log_scan: LogScan, secret: str, networks: Any
):
    settings.SVC = replace(settings.SVC, trusted_proxies=networks)
    user = person("owner")
    secret = secret or token_of(user)
    api, seen = api_of(user), log_scan.records
    answer = api.post("/api/groups", {"name": "team"}, **{"X-Request-Id": secret})
    assert answer.status == 200
    assert answer.headers["X-Request-Id"] != secret
    assert AuditEvent.objects.filter(request_id=answer.headers["X-Request-Id"]).exists()
    assert not AuditEvent.objects.filter(request_id=secret).exists()
    assert log_scan.records > seen
    assert not [line for line in log_scan.lines if secret in line]


@pytest.mark.parametrize(
    "path",
    ["/api/groups/" + "x" * 5000, f"{PATH}?a={'x' * 9000}"],
    ids=["path", "query"],
)
def test_over_long_address_is_414(api: Api, path: str):
    assert_error(api.get(path), 414, "too long")


def test_foreign_host_is_refused_and_the_setting_named(api: Api):
    answer = api.get(PATH, Host="evil.company")
    assert_error(answer, 400, "SVC_ALLOWED_HOSTS", "evil.company")


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000"])
def test_loopback_names_are_allowed_without_a_setting(api: Api, host: str):
    assert api.get(PATH, Host=host).status == 200


def test_configured_host_and_its_subdomains_are_allowed(api: Api, settings):
    settings.SVC = replace(settings.SVC, allowed_hosts=(".mesh.company",))
    assert api.get(PATH, Host="a.mesh.company").status == 200
    assert api.get(PATH, Host="localhost").status == 400


def test_any_host_is_allowed_when_bound_beyond_loopback(api: Api, settings):
    settings.SVC = replace(settings.SVC, bind="0.0.0.0:8000")
    assert api.get(PATH, Host="anything.company").status == 200


def test_malformed_host_is_refused(api: Api):
    assert_error(api.get(PATH, Host="a b/c"), 400, "malformed")


@pytest.mark.parametrize("length", ["8R C", "-1", "1.5", "\u00b2"])
def test_malformed_length_is_refused(api: Api, length: str):
    assert_error(api.get(PATH, CONTENT_LENGTH=length), 400, "Content-Length")


def test_cors_is_off_by_default(api: Api):
    answer = api.get(PATH, Origin="https://dash.company")
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_allowed_origin_may_read_answers_and_errors(api: Api, settings):
    settings.SVC = replace(settings.SVC, cors_allowed_origins=("https://d.company",))
    for path in (PATH, "/api/nothing"):
        answer = api.get(path, Origin="https://d.company")
        assert answer.headers["Access-Control-Allow-Origin"] == "https://d.company"
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert {"X-Request-Id", PRECISION_HEADER, HEAD_HEADER} <= set(exposed)
    other = api.get(PATH, Origin="https://evil.company")
    assert "Access-Control-Allow-Origin" not in other.headers
    assert "Origin" in other.headers["Vary"]


def test_preflight_needs_no_token(settings):
    settings.SVC = replace(settings.SVC, cors_allowed_origins=("*",))
    asked = {"Origin": "https://d.company", "Access-Control-Request-Method": "PUT"}
    answer = Api().call("OPTIONS", PATH, **asked)
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (204, "*")
    assert "PUT" in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


def test_accept_does_not_change_the_format(api: Api):
    for accept in ("text/html", "application/xml", "image/png", "garbage"):
        assert api.get(PATH, Accept=accept).status == 200


def failing(api: Api, monkeypatch: pytest.MonkeyPatch, error: Exception) -> Answer:
    """Return the answer of a view that raises an error."""

    def fail(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr(audit.AuditEventsView, "get", fail)
    return api.get(PATH)


def test_unforeseen_error_is_500_and_leaks_nothing(api: Api, monkeypatch):
    answer = failing(api, monkeypatch, RuntimeError("secret detail"))
    assert_error(answer, 500)
    assert b"secret" not in answer.body


def test_database_that_is_away_is_503_with_retry_after(api: Api, monkeypatch):
    away = OperationalError("connection refused to 10.0.0.1")
    answer = failing(api, monkeypatch, away)
    assert_error(answer, 503)
    assert int(answer.headers["Retry-After"]) >= 1
    assert b"10.0.0.1" not in answer.body


def test_schema_and_docs_need_no_token_by_default():
    assert Api().get("/api/schema").status == 200
    page = Api().get("/api/docs")
    assert page.status == 200
    assert page.headers["Content-Type"].startswith("text/html")
    assert not re.search(b"https?://", page.body)


@pytest.mark.parametrize("path", ["/api/docs", "/api/schema"])
def test_public_documentation_does_not_mind_a_bad_token(path):
    assert Api("nonsense").get(path).status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ["/api/docs", "/api/schema", "/api/instance"])
def test_reading_methods_of_public_paths_need_no_token(path, method):
    assert Api().call(method, path).status == 200


def test_options_of_a_path_that_takes_public_writes_alone_need_no_token():
    assert Api().call("OPTIONS", "/api/setup").status == 200
    assert Api().call("OPTIONS", "/api/groups").status == 401


def test_docs_can_ask_for_a_token_or_be_off(settings):
    settings.SVC = replace(settings.SVC, api_docs="token")
    assert Api().get("/api/schema").status == 401
    assert Api(token_of(person())).get("/api/schema").status == 200
    settings.SVC = replace(settings.SVC, api_docs="off")
    assert Api().get("/api/schema").status == 404
    assert Api().get("/api/docs").status == 404
