"""Access logs of Traefik in its JSON format, default field names."""

from typing import Any, Final

from events.addresses import host_of
from events.logfiles.moments import instant_of
from events.logfiles.ndjson import LineFault, json_object, number_of, text_of
from events.logfiles.requests import asked, bare_host
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
            "timestamp": instant_of(record, "StartUTC", "time"),
            "service_id": text_of(record, "ServiceName"),
            "method": method,
            "host": host or bare_host(text_of(record, "RequestHost")),
            "path": path,
            "status_code": number_of(record, "DownstreamStatus"),
            "duration_ms": number_of(record, "Duration") / NANOSECONDS_PER_MS,
            "source_ip": host_of(text_of(record, "ClientHost", "ClientAddr")),
            "bytes_upload": number_of(record, "RequestContentSize"),
            "bytes_download": number_of(record, "DownstreamContentSize"),
            "user_id": text_of(record, "ClientUsername"),
        }
    )
