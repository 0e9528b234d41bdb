"""Log lines of reverse proxies become access log entries."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.logfiles.fields import LineFault
from events.logfiles.parsers import PARSERS
from events.streams import proxy
from events.streams.decoding import one_event
from events.vocabulary import PATH_LIMIT
from meshmgmt.core import clock
from tests.events.samples import moment

COMBINED = (
    '203.0.113.9 - ann [21/Nov/2026:01:02:03 +0200] "GET /wiki/Start?token=1 HTTP/1.1"'
    ' 404 153 "-" "curl/8.5.0"'
)


ENTRY: dict[str, Any] = {
    "timestamp": "2026-11-20T23:02:03.250000Z",
    "method": "GET",
    "host": "wiki.internal",
    "path": "/a",
    "duration_ms": 12,
    "source_ip": "203.0.113.9",
    "user_id": "ann",
    "protocol": "http",
}
"""What most lines below tell."""


def parsed(form: str, line: str | bytes | dict[str, Any]) -> dict[str, Any]:
    """Return the entry of a line."""
    if isinstance(line, dict):
        line = orjson.dumps(line)
    return PARSERS[form](line.encode() if isinstance(line, str) else line)


def checked(entry: dict[str, Any]) -> proxy.Entry:
    """Return the entry as ingest takes it."""
    return proxy.check(one_event(proxy.Entry, entry), clock.now()).content


def test_nginx_combined():
    entry = parsed("nginx", COMBINED)
    assert checked(entry).path == "/wiki/Start"
    assert entry == ENTRY | {
        "timestamp": "2026-11-20T23:02:03Z",
        "host": "",
        "path": "/wiki/Start",
        "status_code": 404,
        "duration_ms": 0,
        "bytes_upload": 0,
        "bytes_download": 153,
    }


def test_nginx_escapes_are_undone():
    line = COMBINED.replace("/wiki/Start?token=1", r"/\xC3\xA9\x22")
    assert parsed("nginx", line)["path"] == '/é"'


def test_nginx_json():
    line = {
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
    assert parsed("nginx", line) == ENTRY | {
        "id": "0123456789abcdef",
        "method": "POST",
        "path": "/a/b",
        "status_code": 201,
        "duration_ms": 17,
        "source_ip": "100.64.0.9",
        "bytes_upload": 321,
        "bytes_download": 12,
        "user_id": "",
        "country_code": "",
    }


def test_caddy():
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
    expected = ENTRY | {"status_code": 200, "bytes_upload": 7, "bytes_download": 99}
    assert parsed("caddy", record) == expected
    record["ts"] = "2026-11-20T23:02:03.25Z"
    assert parsed("caddy", record) == expected


def test_traefik():
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
    assert parsed("traefik", record) == ENTRY | {
        "timestamp": "2026-11-20T23:02:03.123456Z",
        "service_id": "wiki@docker",
        "status_code": 502,
        "bytes_upload": 5,
        "bytes_download": 44,
        "user_id": "",
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
def test_other_lines_are_faults(form: str, line: str):
    with pytest.raises(LineFault):
        parsed(form, line)


REQUEST_LINES = {
    r"\x16\x03\x01": ("", "", ""),
    "": ("", "", ""),
    "-": ("", "", ""),
    "hello there you": ("", "", ""),
    "GET": ("", "", ""),
    "GET /old": ("GET", "", "/old"),
    "GET /a b HTTP/1.1": ("GET", "", "/a b"),
    r"GET /a\x00b HTTP/1.1": ("GET", "", "/a\N{REPLACEMENT CHARACTER}b"),
    "GET http://Abs.test:80/p?token=1 HTTP/1.1": ("GET", "abs.test", "/p"),
    "GET http://u:p@abs.test?token=1 HTTP/1.1": ("GET", "abs.test", "/"),
    "GET //abs.test/p HTTP/1.1": ("GET", "", "//abs.test/p"),
    "GET /http://x#frag HTTP/1.1": ("GET", "", "/http://x"),
    "CONNECT A.test:443 HTTP/1.1": ("CONNECT", "a.test", ""),
    "OPTIONS * HTTP/1.1": ("OPTIONS", "", "*"),
    "get / HTTP/1.1": ("get", "", "/"),
}


@pytest.mark.parametrize(("request_line", "expected"), REQUEST_LINES.items())
def test_request_lines_are_read_alike_in_both_formats_of_nginx(
    request_line: str, expected: tuple[str, str, str]
):
    line = COMBINED.replace("GET /wiki/Start?token=1 HTTP/1.1", request_line)
    plain = request_line.encode().decode("unicode_escape")
    record = {"msec": 1e9, "request": plain, "request_method": "", "host": ""}
    for entry in (parsed("nginx", line), parsed("nginx", record)):
        assert (entry["method"], entry["host"], entry["path"]) == expected


def in_all_formats(host: str, client: str) -> list[dict[str, Any]]:
    """Return the entries of a request to this host by this client."""
    records: dict[str, dict[str, Any]] = {
        "nginx": {"msec": 1e9, "host": host, "remote_addr": client, "uri": "/"},
        "caddy": {"ts": 1e9, "request": {"host": host, "client_ip": client}},
        "traefik": {"RequestMethod": "", "RequestHost": host, "ClientHost": client}
        | {"time": moment()},
    }
    return [parsed(form, record) for form, record in records.items()]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("B.Test", "b.test"),
        ("B.Test:8443", "b.test"),
        ("b.test.", "b.test"),
        ("[::1]", "::1"),
        ("[2001:DB8::1]:8443", "2001:db8::1"),
        ("", ""),
    ],
)
def test_hosts_are_written_alike_by_all_formats(host: str, expected: str):
    found = [entry["host"] for entry in in_all_formats(host, "")]
    assert found == [expected] * 3


@pytest.mark.parametrize(
    "address", ["unix:", "@", "", "-", "nowhere", "fe80::1%eth0", "[fe80::1%eth0]:80"]
)
def test_a_client_without_an_address_is_no_fault(address: str):
    expected = "fe80::1" if address.count("fe80") else ""
    found = [entry["source_ip"] for entry in in_all_formats("", address)]
    assert found == [expected] * 3


def test_what_is_no_utf8_is_replaced():
    raw = COMBINED.encode().replace(b"/wiki/Start", rb"/bad\xFF")
    entry = parsed("nginx", raw.replace(b"ann", b"\xf6"))
    assert (entry["path"], entry["user_id"]) == ("/bad\ufffd", "\ufffd")
    raw = b'{"msec":1000000000,"uri":"/bad\xff","remote_user":"a\\u0000b"}'
    entry = parsed("nginx", raw)
    assert (entry["path"], entry["user_id"]) == ("/bad\ufffd", "a\ufffdb")


def test_what_is_too_long_is_cut_and_said_so_and_such_an_id_left_to_the_line():
    assert "id" not in parsed("nginx", {"msec": 1e9, "request_id": "x" * 129})
    facts: dict[str, Any] = {"ts": clock.now().timestamp(), "user_id": "u" * 200}
    facts |= {"size": 1e300, "status": -5, "duration": 1e308}
    request = {"method": "M" * 40, "host": "h" * 300, "uri": "/" + "p" * 9000}
    entry = parsed("caddy", facts | {"request": request})
    assert entry["metadata"] == {"truncated": "method,host,path,user_id"}
    content = checked(entry)
    assert len(content.path) == 8192
    assert (content.status_code, content.duration_ms) == (0, 2**31 - 1)


def test_a_hole_left_by_truncation_is_skipped():
    assert parsed("nginx", b"\0" * 99 + COMBINED.encode())["path"] == "/wiki/Start"


def test_times_of_caddy():
    spelt = [
        *(1795215723.25, 1795215723250.0, 1795215723250000000),
        *("2026-11-20T23:02:03.250Z", "2026-11-21T01:02:03.250+0200"),
        *("2026-11-20T23:02:03.25Z", "2026-11-21T01:02:03.250000000+02:00"),
        "21/Nov/2026:01:02:03 +0200",
    ]
    found = [parsed("caddy", {"ts": ts, "request": {}})["timestamp"] for ts in spelt]
    *fine, common = found
    assert fine == ["2026-11-20T23:02:03.250000Z"] * 7
    assert common == "2026-11-20T23:02:03Z"
    with pytest.raises(LineFault, match="zone"):
        parsed("caddy", {"ts": "2026/11/20 23:02:03", "request": {}})


odd_texts = ["GET / HTTP/1.1", "21/Nov/2026:01:02:03 +0200", "[::1", "a://b", "1e308"]
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats()
values = st.one_of(
    *(st.none(), st.booleans(), numbers, st.text(), st.sampled_from(odd_texts))
)
NAMES = [
    *("msec", "time_iso8601", "time_local", "status", "request", "request_uri"),
    *("request_time", "remote_addr", "remote_user", "host", "request_method"),
    *("ts", "size", "duration", "user_id", "bytes_read", "request_id"),
    *("RequestMethod", "StartUTC", "Duration", "ClientHost", "RequestHost"),
    *("RequestPath", "ServiceName", "DownstreamStatus", "time"),
]
requests = st.dictionaries(
    st.sampled_from(["uri", "host", "method", "client_ip", "remote_ip"]), values
)
records = st.dictionaries(st.sampled_from(NAMES), values | requests).flatmap(
    lambda record: st.just(record) | requests.map(lambda r: record | {"request": r})
)
pieces = st.sampled_from(COMBINED.encode().split(b" ")) | st.binary(max_size=30)
raw_lines = (
    st.binary()
    | records.map(orjson.dumps)
    | records.map(lambda r: orjson.dumps({"msec": 1795215723.5, "ts": 1.5e9} | r))
    | st.lists(pieces, max_size=14).map(b" ".join)
)


@pytest.mark.parametrize("examples", [60, pytest.param(2_000, marks=pytest.mark.slow)])
def test_any_line_is_an_entry_or_a_fault(examples: int):
    @settings(max_examples=examples, deadline=None)
    @given(st.sampled_from(sorted(PARSERS)), raw_lines)
    def parse(form: str, line: bytes) -> None:
        try:
            entry = PARSERS[form](line)
        except LineFault:
            return
        if form == "ndjson" or not any(entry.get(name) for name in proxy.TELLING):
            assert isinstance(entry, dict)
            return
        assert len(checked(entry).path) <= PATH_LIMIT

    parse()


@given(st.binary(max_size=60), st.sampled_from(["path", "user"]))
def test_whatever_bytes_a_client_sends_its_request_is_told(sent: bytes, place: str):
    """As nginx escapes them, in both formats."""
    escaped = "".join(
        chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{b:02X}" for b in sent
    )
    path, user = (escaped, "-") if place == "path" else ("", escaped)
    combined = COMBINED.replace("/wiki/Start", "/" + path).replace("ann", user)
    inside = sent.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    for byte in range(32):
        inside = inside.replace(bytes([byte]), b"\\u%04X" % byte)
    name = b"request_uri" if place == "path" else b"remote_user"
    json = b'{"msec":"1795215723.250","host":"h","%s":"/%s"}' % (name, inside)
    for line in (combined.encode(), json):
        checked(parsed("nginx", line))
