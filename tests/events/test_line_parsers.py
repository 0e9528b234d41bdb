"""Log lines of reverse proxies become access log entries."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.lines import PARSERS
from events.lines.ndjson import LineFault
from events.streams import proxy
from meshmgmt.core import clock

COMBINED = (
    '203.0.113.9 - ann [21/Nov/2026:01:02:03 +0200] "GET /wiki/Start?token=1 HTTP/1.1"'
    ' 404 153 "-" "curl/8.5.0"'
)


def test_nginx_combined() -> None:
    assert PARSERS["nginx"](COMBINED) == {
        "timestamp": "2026-11-20T23:02:03Z",
        "method": "GET",
        "host": "",
        "path": "/wiki/Start",
        "status_code": 404,
        "source_ip": "203.0.113.9",
        "bytes_download": 153,
        "user_id": "ann",
        "protocol": "http",
    }


def test_nginx_combined_with_rubbish_for_a_request() -> None:
    line = COMBINED.replace("GET /wiki/Start?token=1 HTTP/1.1", r"\x16\x03\x01")
    entry = PARSERS["nginx"](line)
    assert (entry["method"], entry["path"]) == ("", "")


def test_nginx_escapes_are_undone() -> None:
    line = COMBINED.replace("/wiki/Start?token=1", r"/\xC3\xA9\x22")
    assert PARSERS["nginx"](line)["path"] == '/é"'


def test_nginx_json() -> None:
    line = orjson.dumps(
        {
            "msec": "1795215723.250",
            "request_id": "0123456789abcdef",
            "request_method": "POST",
            "host": "wiki.internal",
            "request_uri": "/a/b?secret=1",
            "status": "201",
            "request_time": "0.017",
            "request_length": "321",
            "body_bytes_sent": "12",
            "remote_addr": "100.64.0.9",
            "remote_user": "",
        }
    ).decode()
    assert PARSERS["nginx"](line) == {
        "id": "0123456789abcdef",
        "timestamp": "2026-11-20T23:02:03.250000Z",
        "method": "POST",
        "host": "wiki.internal",
        "path": "/a/b",
        "status_code": 201,
        "duration_ms": 17,
        "source_ip": "100.64.0.9",
        "bytes_upload": 321,
        "bytes_download": 12,
        "user_id": "",
        "country_code": "",
        "protocol": "http",
    }


def test_caddy() -> None:
    record = {
        "level": "info",
        "ts": 1795215723.25,
        "logger": "http.log.access.log0",
        "msg": "handled request",
        "request": {
            "remote_ip": "192.0.2.1",
            "client_ip": "203.0.113.9",
            "proto": "HTTP/2.0",
            "method": "GET",
            "host": "wiki.internal:8443",
            "uri": "/a?b=c",
            "headers": {"User-Agent": ["curl"]},
        },
        "bytes_read": 7,
        "user_id": "ann",
        "duration": 0.0123,
        "size": 99,
        "status": 200,
    }
    expected = {
        "timestamp": "2026-11-20T23:02:03.250000Z",
        "method": "GET",
        "host": "wiki.internal",
        "path": "/a",
        "status_code": 200,
        "duration_ms": 12,
        "source_ip": "203.0.113.9",
        "bytes_upload": 7,
        "bytes_download": 99,
        "user_id": "ann",
        "protocol": "http",
    }
    assert PARSERS["caddy"](orjson.dumps(record).decode()) == expected
    record["ts"] = "2026-11-20T23:02:03.25Z"
    assert PARSERS["caddy"](orjson.dumps(record).decode()) == expected


def test_traefik() -> None:
    record = {
        "ClientAddr": "203.0.113.9:51312",
        "ClientHost": "203.0.113.9",
        "ClientUsername": "-",
        "DownstreamContentSize": 44,
        "DownstreamStatus": 502,
        "Duration": 12_345_678,
        "RequestContentSize": 5,
        "RequestHost": "wiki.internal",
        "RequestMethod": "GET",
        "RequestPath": "/a?b",
        "RequestProtocol": "HTTP/2.0",
        "ServiceName": "wiki@docker",
        "StartUTC": "2026-11-20T23:02:03.123456789Z",
        "time": "2026-11-20T23:02:04Z",
    }
    assert PARSERS["traefik"](orjson.dumps(record).decode()) == {
        "timestamp": "2026-11-20T23:02:03.123456Z",
        "service_id": "wiki@docker",
        "method": "GET",
        "host": "wiki.internal",
        "path": "/a",
        "status_code": 502,
        "duration_ms": 12,
        "source_ip": "203.0.113.9",
        "bytes_upload": 5,
        "bytes_download": 44,
        "user_id": "",
        "protocol": "http",
    }


@pytest.mark.parametrize(
    ("form", "line"),
    [
        ("ndjson", "{"),
        ("ndjson", "[]"),
        ("nginx", "hello"),
        ("nginx", COMBINED.replace("Nov", "Nix")),
        ("nginx", COMBINED.replace("21/Nov", "31/Nov")),
        ("nginx", '{"status":"200"}'),
        ("nginx", '{"msec":"soon"}'),
        ("nginx", '{"msec":"1e300"}'),
        ("nginx", '{"msec":"nan"}'),
        ("caddy", '{"msg":"started"}'),
        ("caddy", '{"request":{}}'),
        ("caddy", '{"request":{},"ts":1e300}'),
        ("caddy", '{"request":{},"ts":true}'),
        ("traefik", '{"msg":"started"}'),
        ("traefik", '{"RequestMethod":"GET"}'),
        ("traefik", '{"RequestMethod":"GET","time":"now"}'),
    ],
)
def test_other_lines_are_faults(form: str, line: str) -> None:
    with pytest.raises(LineFault):
        PARSERS[form](line)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.text(max_size=9),
)
records = st.dictionaries(
    st.sampled_from(
        [
            "msec",
            "time_iso8601",
            "time_local",
            "status",
            "request",
            "request_uri",
            "ts",
            "request_time",
            "RequestMethod",
            "StartUTC",
            "Duration",
            "ClientHost",
            "size",
        ]
    ),
    values | st.dictionaries(st.sampled_from(["uri", "host", "method"]), values),
)


@given(st.sampled_from(sorted(PARSERS)), st.text() | records.map(orjson.dumps))
def test_any_line_is_an_entry_or_a_fault(form: str, line: Any) -> None:
    text = line if isinstance(line, str) else line.decode()
    try:
        entry = PARSERS[form](text)
    except LineFault:
        return
    assert isinstance(entry, dict)


def test_entries_pass_the_checks_of_ingest() -> None:
    entry = PARSERS["nginx"](COMBINED)
    assert proxy.check(entry, clock.now()).content["path"] == "/wiki/Start"
