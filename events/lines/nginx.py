"""Access logs of nginx: its `combined` format, and JSON with nginx's variable names.

A JSON line holds nginx variables under their own names, for example

    log_format mesh escape=json '{"msec":"$msec","request_id":"$request_id",'
      '"request_method":"$request_method","host":"$host","uri":"$request_uri",'
      '"status":"$status","request_time":"$request_time",'
      '"body_bytes_sent":"$body_bytes_sent","request_length":"$request_length",'
      '"remote_addr":"$remote_addr","remote_user":"$remote_user"}';
"""

import re
from datetime import UTC, datetime
from typing import Any, Final

from events.lines.ndjson import (
    LineFault,
    number_of,
    parse_ndjson,
    path_of,
    text_of,
)
from events.streams.instants import parse_instant, render_instant

_QUOTED: Final = r'"((?:[^"\\]|\\.)*)"'
_COMBINED: Final = re.compile(
    rf"(\S+) (\S+) (.+?) \[([^\]]+)\] {_QUOTED} (\d{{3}}) (\d+|-)"
    rf"(?: {_QUOTED} {_QUOTED})?"
)
_MONTHS: Final = (
    "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()  # noqa: SIM905
)
_REQUEST_WORDS: Final = 3
_ESCAPE: Final = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.)")


def parse_nginx(line: str) -> dict[str, Any]:
    """Return the entry of a line in the JSON or combined format. Raises LineFault."""
    if line.startswith("{"):
        return _from_json(parse_ndjson(line))
    match = _COMBINED.fullmatch(line)
    if match is None:
        raise LineFault("is neither JSON nor nginx's combined format")
    address, _, user, moment, request, status, size, _, _ = match.groups()
    method, path = _request(_unescape(request))
    return {
        "timestamp": render_instant(_local_time(moment)),
        "method": method,
        "host": "",
        "path": path,
        "status_code": int(status),
        "source_ip": address,
        "bytes_download": 0 if size == "-" else int(size),
        "user_id": "" if user == "-" else _unescape(user),
        "protocol": "http",
    }


def _local_time(text: str) -> datetime:
    """Return the instant of `$time_local`: month names are English in any locale."""
    try:
        day, month, rest = text.split("/", 2)
        number = _MONTHS.index(month) + 1
        moment = datetime.strptime(f"{day}/{number}/{rest}", "%d/%m/%Y:%H:%M:%S %z")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise LineFault(f"{text!r} is not a time as nginx writes it") from error


def _request(line: str) -> tuple[str, str]:
    """Return method and path of a request line; empty when the client sent rubbish."""
    words = line.split(" ")
    if len(words) != _REQUEST_WORDS or not words[2].startswith("HTTP/"):
        return "", ""
    return words[0], path_of(words[1])


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
    return raw.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _from_json(record: dict[str, Any]) -> dict[str, Any]:
    request = text_of(record, "request")
    method, path = _request(request) if request else ("", "")
    entry = {
        "timestamp": render_instant(_moment(record)),
        "method": text_of(record, "request_method") or method,
        "host": text_of(record, "host", "http_host", "server_name"),
        "path": path_of(text_of(record, "request_uri", "uri")) or path,
        "status_code": int(number_of(record, "status")),
        "duration_ms": round(number_of(record, "request_time") * 1000),
        "source_ip": text_of(record, "remote_addr"),
        "bytes_upload": int(number_of(record, "request_length")),
        "bytes_download": int(number_of(record, "body_bytes_sent", "bytes_sent")),
        "user_id": text_of(record, "remote_user"),
        "country_code": text_of(record, "geoip_country_code", "geoip2_country_code"),
        "protocol": "http",
    }
    if identifier := text_of(record, "request_id"):
        entry["id"] = identifier
    return entry


def _moment(record: dict[str, Any]) -> datetime:
    text = text_of(record, "time_iso8601", "time")
    try:
        if seconds := number_of(record, "msec"):
            return datetime.fromtimestamp(seconds, UTC)
        if text:
            return parse_instant(text)
    except (ValueError, OverflowError, OSError) as error:
        raise LineFault("msec or time_iso8601 is not a time") from error
    if local := text_of(record, "time_local"):
        return _local_time(local)
    raise LineFault("holds no msec, time_iso8601 or time_local")
