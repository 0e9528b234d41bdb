"""Log lines of well-known reverse proxies, turned into access log entries.

Each parser is a pure function from one line to an entry as the ingest endpoint takes it,
or LineFault. Query strings are left out: they often hold secrets, and the contract's
`path` is the path alone.
"""

import re
from collections.abc import Callable
from typing import Any, Final

from events.logfiles.fields import (
    LineFault,
    asked,
    bare_host,
    instant_of,
    json_object,
    number_of,
    readable,
    request_of,
    served,
    text_of,
)
from events.vocabulary import ID_LIMIT
from meshmgmt.api.requests import MAX_DEPTH, deeper_than
from meshmgmt.core.addresses import host_of

_QUOTED: Final = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
# A user may hold spaces and brackets, so the time has to look like one.
_COMBINED: Final = re.compile(
    r"(\S+) (\S+) (.*?) \[(\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    rf"{_QUOTED} (\d{{3}}) (\d+|-)(?: {_QUOTED} {_QUOTED})?",
    re.ASCII,
)
_NANOSECONDS_PER_MS: Final = 1_000_000
_ESCAPE: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.)")


def parse_nginx(line: bytes) -> dict[str, Any]:
    """Return the entry of a line in the JSON or combined format. Raises LineFault.

    A JSON line holds nginx variables under their own names, for example

        log_format mesh escape=json '{"msec":"$msec","request_id":"$request_id",'
          '"request_method":"$request_method","host":"$host","request_uri":"$request_uri",'
          '"request":"$request","status":"$status","request_time":"$request_time",'
          '"body_bytes_sent":"$body_bytes_sent","request_length":"$request_length",'
          '"remote_addr":"$remote_addr","remote_user":"$remote_user"}';

    `request` alone tells what a request that nginx refused as malformed asked for.
    """
    text = readable(line)
    return served(_from_json(text) if text.startswith("{") else _from_combined(text))


def _from_combined(line: str) -> dict[str, Any]:
    match = _COMBINED.fullmatch(line)
    if match is None:
        raise LineFault("is neither JSON nor nginx's combined format")
    address, _, user, moment, request, status, size, _, _ = match.groups()
    method, host, path = request_of(_unescape(request))
    return {
        "timestamp": instant_of({"the time": moment}, "the time"),
        "method": method,
        "host": host,
        "path": path,
        "status_code": int(status),
        "source_ip": host_of(address),
        "bytes_download": 0 if size == "-" else float(size),
        "user_id": "" if user == "-" else _unescape(user),
    }


def _unescape(text: str) -> str:
    """Undo nginx's default escaping: `\\xXX` stands for one byte of UTF-8."""
    if "\\" not in text:
        return text
    raw = bytearray()
    end = 0
    for match in _ESCAPE.finditer(text):
        raw += text[end : match.start()].encode()
        code, character = match.groups()
        raw += bytes([int(code, 16)]) if code else character.encode()
        end = match.end()
    raw += text[end:].encode()
    return raw.decode(errors="replace")


def _from_json(line: str) -> dict[str, Any]:
    record = json_object(line)
    said = request_of(text_of(record, "request"))
    method, host, path = asked(
        text_of(record, "request_method"), text_of(record, "request_uri", "uri")
    )
    host = host or bare_host(text_of(record, "host", "http_host", "server_name"))
    entry = {
        "timestamp": instant_of(record, "msec", "time_iso8601", "time", "time_local"),
        "method": method or said.method,
        "host": host or said.host,
        "path": path or said.path,
        "status_code": number_of(record, "status"),
        "duration_ms": number_of(record, "request_time") * 1000,
        "source_ip": host_of(text_of(record, "remote_addr")),
        "bytes_upload": number_of(record, "request_length"),
        "bytes_download": number_of(record, "body_bytes_sent", "bytes_sent"),
        "user_id": text_of(record, "remote_user"),
        "country_code": text_of(record, "geoip_country_code", "geoip2_country_code"),
    }
    identifier = text_of(record, "request_id")
    if identifier and len(identifier) <= ID_LIMIT and "\0" not in identifier:
        entry["id"] = identifier
    return entry


def parse_caddy(line: bytes) -> dict[str, Any]:
    """Return the entry of a line of Caddy's JSON encoder with its default keys.

    Of its time formats those that tell a zone: unix_seconds_float (the default),
    unix_milli_float, unix_nano, iso8601, rfc3339, rfc3339_nano and common_log. The others
    (wall, wall_milli, wall_nano) leave the zone open. Durations are its default, seconds.
    Raises LineFault.
    """
    record = json_object(readable(line))
    request = record.get("request")
    if not isinstance(request, dict):
        raise LineFault("holds no request: is it an access log line?")
    method, host, path = asked(text_of(request, "method"), text_of(request, "uri"))
    return served(
        {
            "timestamp": instant_of(record, "ts"),
            "method": method,
            "host": host or bare_host(text_of(request, "host")),
            "path": path,
            "status_code": number_of(record, "status"),
            "duration_ms": number_of(record, "duration") * 1000,
            "source_ip": host_of(text_of(request, "client_ip", "remote_ip")),
            "bytes_upload": number_of(record, "bytes_read"),
            "bytes_download": number_of(record, "size"),
            "user_id": text_of(record, "user_id"),
        }
    )


def parse_traefik(line: bytes) -> dict[str, Any]:
    """Return the entry of a line of Traefik's JSON format. Raises LineFault."""
    record = json_object(readable(line))
    if "RequestMethod" not in record and "DownstreamStatus" not in record:
        raise LineFault("holds no RequestMethod: is it an access log line?")
    method, host, path = asked(
        text_of(record, "RequestMethod"), text_of(record, "RequestPath")
    )
    return served(
        {
            "timestamp": instant_of(record, "StartUTC", "time"),
            "service_id": text_of(record, "ServiceName"),
            "method": method,
            "host": host or bare_host(text_of(record, "RequestHost")),
            "path": path,
            "status_code": number_of(record, "DownstreamStatus"),
            "duration_ms": number_of(record, "Duration") / _NANOSECONDS_PER_MS,
            "source_ip": host_of(text_of(record, "ClientHost", "ClientAddr")),
            "bytes_upload": number_of(record, "RequestContentSize"),
            "bytes_download": number_of(record, "DownstreamContentSize"),
            "user_id": text_of(record, "ClientUsername"),
        }
    )


def parse_ndjson(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line, as strict as the endpoint. Raises LineFault."""
    found = json_object(line)
    if deeper_than(found, MAX_DEPTH):
        raise LineFault(f"is nested deeper than {MAX_DEPTH} levels")
    return found


LineParser = Callable[[bytes], dict[str, Any]]

PARSERS: Final[dict[str, LineParser]] = {
    "ndjson": parse_ndjson,
    "nginx": parse_nginx,
    "caddy": parse_caddy,
    "traefik": parse_traefik,
}
