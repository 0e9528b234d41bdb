"""Access logs of Caddy: its JSON encoder, any of its time formats that tell a zone."""

from datetime import UTC, datetime
from typing import Any, Final

from events.lines.ndjson import LineFault, number_of, parse_ndjson, path_of, text_of
from events.streams.instants import parse_instant, render_instant

MESSAGE: Final = "handled request"


def parse_caddy(line: str) -> dict[str, Any]:
    """Return the entry of a line of Caddy's access log. Raises LineFault."""
    record = parse_ndjson(line)
    request = record.get("request")
    if not isinstance(request, dict):
        raise LineFault("holds no request: is it an access log line?")
    return {
        "timestamp": render_instant(_moment(record)),
        "method": text_of(request, "method"),
        "host": _bare_host(text_of(request, "host")),
        "path": path_of(text_of(request, "uri")),
        "status_code": int(number_of(record, "status")),
        "duration_ms": round(number_of(record, "duration") * 1000),
        "source_ip": text_of(request, "client_ip", "remote_ip"),
        "bytes_upload": int(number_of(record, "bytes_read")),
        "bytes_download": int(number_of(record, "size")),
        "user_id": text_of(record, "user_id"),
        "protocol": "http",
    }


def _bare_host(host: str) -> str:
    """Return the host without its port, as the other proxies log it."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def _moment(record: dict[str, Any]) -> datetime:
    value = record.get("ts")
    try:
        if isinstance(value, str):
            return parse_instant(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise LineFault(f"ts {value!r} is not a time") from error
    raise LineFault("holds no ts")
