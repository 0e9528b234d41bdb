"""Access logs of nginx: its `combined` format, and JSON with nginx's variable names.

A JSON line holds nginx variables under their own names, for example

    log_format mesh escape=json '{"msec":"$msec","request_id":"$request_id",'
      '"request_method":"$request_method","host":"$host","request_uri":"$request_uri",'
      '"request":"$request","status":"$status","request_time":"$request_time",'
      '"body_bytes_sent":"$body_bytes_sent","request_length":"$request_length",'
      '"remote_addr":"$remote_addr","remote_user":"$remote_user"}';

`request` alone tells what a request that nginx refused as malformed asked for.
"""

import re
from typing import Any, Final

from events.addresses import host_of
from events.logfiles.moments import instant_of
from events.logfiles.ndjson import LineFault, json_object, number_of, text_of
from events.logfiles.requests import asked, bare_host, request_of
from events.logfiles.served import readable, served
from events.vocabulary import ID_LIMIT

_QUOTED: Final = r'"([^"\\]*(?:\\.[^"\\]*)*)"'
# A user may hold spaces and brackets, so the time has to look like one.
_COMBINED: Final = re.compile(
    r"(\S+) (\S+) (.*?) \[(\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "
    rf"{_QUOTED} (\d{{3}}) (\d+|-)(?: {_QUOTED} {_QUOTED})?",
    re.ASCII,
)
_ESCAPE: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.)")


def parse_nginx(line: bytes) -> dict[str, Any]:
    """Return the entry of a line in the JSON or combined format. Raises LineFault."""
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
