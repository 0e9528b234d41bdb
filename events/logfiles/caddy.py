"""Access logs of Caddy: its JSON encoder with its default keys.

Of its time formats those that tell a zone: unix_seconds_float (the default),
unix_milli_float, unix_nano, iso8601, rfc3339, rfc3339_nano and common_log. The others
(wall, wall_milli, wall_nano) leave the zone open. Durations are its default, seconds.
"""

from typing import Any

from events.addresses import host_of
from events.logfiles.moments import instant_of
from events.logfiles.ndjson import LineFault, json_object, number_of, text_of
from events.logfiles.requests import asked, bare_host
from events.logfiles.served import readable, served


def parse_caddy(line: bytes) -> dict[str, Any]:
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
