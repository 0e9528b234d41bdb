"""Log lines of well-known reverse proxies, turned into access log entries.

Each parser is a pure function from one line to an entry as the ingest endpoint takes it,
or LineFault. Query strings are left out: they often hold secrets, and the contract's
`path` is the path alone.
"""

from collections.abc import Callable
from typing import Any, Final

from events.logfiles.caddy import parse_caddy
from events.logfiles.ndjson import parse_ndjson
from events.logfiles.nginx import parse_nginx
from events.logfiles.traefik import parse_traefik

LineParser = Callable[[bytes], dict[str, Any]]

PARSERS: Final[dict[str, LineParser]] = {
    "ndjson": parse_ndjson,
    "nginx": parse_nginx,
    "caddy": parse_caddy,
    "traefik": parse_traefik,
}
