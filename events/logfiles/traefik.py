"""Access logs of Traefik in its JSON format, default field names."""

from datetime import datetime
from typing import Any, Final

from events.instants import parse_instant, render_instant
from events.logfiles.ndjson import LineFault, json_object, number_of, text_of
from events.logfiles.requests import asked, bare_host, client_address
from events.logfiles.served import readable, served

NANOSECONDS_PER_MS: Final = 1_000_000


def parse_traefik(line: bytes) -> dict[str, Any]:
    """Return the entry of a line of Traefik's access log. Raises LineFault."""
    record = json_object(readable(line))
    if "RequestMethod" not in record and "DownstreamStatus" not in record:
        raise LineFault("holds no RequestMethod: is it an access log line?")
    method, host, path = asked(
        text_of(record, "RequestMethod"), text_of(record, "RequestPath")
    )
    return served(
        {
            "timestamp": render_instant(_moment(record)),
            "service_id": text_of(record, "ServiceName"),
            "method": method,
            "host": host or bare_host(text_of(record, "RequestHost")),
            "path": path,
            "status_code": number_of(record, "DownstreamStatus"),
            "duration_ms": number_of(record, "Duration") / NANOSECONDS_PER_MS,
            "source_ip": client_address(text_of(record, "ClientHost", "ClientAddr")),
            "bytes_upload": number_of(record, "RequestContentSize"),
            "bytes_download": number_of(record, "DownstreamContentSize"),
            "user_id": text_of(record, "ClientUsername"),
            "protocol": "http",
        }
    )


def _moment(record: dict[str, Any]) -> datetime:
    text = text_of(record, "StartUTC", "time")
    if not text:
        raise LineFault("holds neither StartUTC nor time")
    try:
        return parse_instant(text)
    except ValueError as error:
        raise LineFault(f"{text!r} is not a time") from error
