"""Configuration from `SVC_*` environment variables, typed and checked at start.

Every wrong value is reported at once, and names that nobody reads are refused, so a
misspelt variable never silently falls back to a default.
"""

import ipaddress
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from meshmgmt import envvalues as read
from meshmgmt.core.slidingwindow import Limit

PREFIX: Final = "SVC_"
BASE_DIR: Final = Path(__file__).resolve().parent.parent
"""The checkout; where packages are installed, when this is no checkout."""
IS_CHECKOUT: Final = (BASE_DIR / "manage.py").is_file()
PROGRAM: Final = (
    "manage.py" if IS_CHECKOUT and Path(sys.argv[0]).name != "meshmgmt" else "meshmgmt"
)
"""What operators type before the name of a command."""
NOT_SET_UP: Final = (
    f"the database is not set up for this version: run {PROGRAM} migrate"
)
SECRETS: Final = (
    "DATABASE_URL",
    "DATABASE_POOLER_URL",
    "DATABASE_REPLICA_URL",
    "SECRET_KEY",
    "OIDC_CLIENT_SECRET",
    "TURN_SECRET",
    "RELAY_SECRET",
)
GRPC_PORT: Final = 33073
_MADE_OTHERWISE: Final = ("DATABASE_URL", "SECRET_KEY")
"""Secrets without which the service makes a database, or a key, of its own."""


class ConfigError(Exception):
    """The environment is unusable; `problems` holds one sentence per fault."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def _data_dir() -> Path:
    """Return `var` in a checkout, else the folder of the user (XDG base directories)."""
    if IS_CHECKOUT:
        return BASE_DIR / "var"
    home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")  # noqa: PTH111 - never raises
    return Path(home) / "meshmgmt"


def _beside(bind: str) -> str:
    """Return where the peers' port is by default: beside the API."""
    host = "127.0.0.1" if bind.startswith("unix:") else bind.rpartition(":")[0]
    return f"{host}:{GRPC_PORT}"


def _read_secret_files(environ: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return `environ` with `SVC_X_FILE` of the listed secrets read into `SVC_X`."""
    values, problems = dict(environ), []
    for name in SECRETS:
        path = values.pop(f"{PREFIX}{name}_FILE", None)
        if path is None:
            continue
        if f"{PREFIX}{name}" in values:
            problems.append(f"{PREFIX}{name} and {PREFIX}{name}_FILE are both set")
            continue
        try:
            # Editors of Windows begin a text with a mark of its byte order.
            text = Path(path).read_text(encoding="utf-8-sig")
            values[f"{PREFIX}{name}"] = text.strip()
            # Not rendered yet, or written on a full disk: another is not what is meant.
            if not text.strip() and name in _MADE_OTHERWISE:
                problems.append(f"{PREFIX}{name}_FILE: {path!r} is empty")
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{PREFIX}{name}_FILE: cannot read {path!r}: {error}")
    return values, problems


def _setting(parse: Callable[[str], Any], default: Any, *, name: str = "") -> Any:
    """Declare a field; a callable `default` gets the values of the fields before it."""
    return field(metadata={"parse": parse, "default": default, "name": name})


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the environment decides. Durations are seconds unless named.

    A field is read from the variable of its name in capitals after `SVC_`.
    """

    data_dir: Path = _setting(read.path, _data_dir())
    runtime_dir: Path = _setting(read.path, lambda given: given["data_dir"] / "run")
    database_url: str = _setting(read.database, "")
    database_pooler_url: str = _setting(read.postgresql, "")
    database_replica_url: str = _setting(read.postgresql, "")
    secret_key: str = _setting(read.secret, "")
    bind: str = _setting(read.bind, "127.0.0.1:8000")
    workers: int = _setting(read.whole(1, 512), 2)
    threads: int = _setting(read.whole(1, 512), 8)
    allowed_hosts: tuple[str, ...] = _setting(read.hosts, ())
    trusted_proxies: tuple[read.Network, ...] = _setting(read.networks, ())
    csrf_trusted_origins: tuple[str, ...] = _setting(read.origins, ())
    cors_allowed_origins: tuple[str, ...] = _setting(read.any_or_origins, ())
    max_body_bytes: int = _setting(read.whole(1024, 2**31), 2**20)
    api_rate_limit: Limit | None = _setting(read.or_off(read.rate), None)
    anonymous_rate_limit: Limit | None = _setting(
        read.or_off(read.rate), Limit(300, 60)
    )
    omitted_fields: str = _setting(read.one_of("refuse", "empty"), "refuse")
    default_policy: str = _setting(read.one_of("none", "all"), "none")
    api_docs: str = _setting(read.one_of("public", "token", "off"), "public")
    dns_domain: str = _setting(read.domain, "mesh.internal")
    metrics_port: int | None = _setting(read.or_off(read.port), 9090)
    metrics_port_explicit: bool = _setting(
        lambda text: True, False, name="METRICS_PORT"
    )
    metrics_host: str | None = _setting(str, None)
    metrics_dialect: str = _setting(read.one_of("seed", "otel"), "seed")
    log_level: str = _setting(read.parse_level, "info")
    log_files: tuple[str, ...] = _setting(read.outputs, ("console",), name="LOG_FILE")
    log_format: str = _setting(read.one_of("json", "text"), "json")
    access_log: str = _setting(read.one_of("all", "errors"), "all")
    syslog_address: str = _setting(str, "/dev/log")
    anonymize: bool = _setting(read.truth, False)
    relay_listeners: tuple[str, ...] = _setting(read.listeners, ())
    otel_endpoint: str = _setting(read.collector, "")
    drain_seconds: float = _setting(read.seconds, 5.0)
    audit_retention_days: int | None = _setting(read.days, None)
    traffic_retention_days: int | None = _setting(read.days, 30)
    proxy_retention_days: int | None = _setting(read.days, 7)
    delivery_dir: Path | None = _setting(read.folder, None)
    delivery_allowed_networks: tuple[read.Network, ...] = _setting(read.networks, ())
    delivery_plain_http: bool = _setting(read.truth, False)
    delivery_dead_letter_days: int | None = _setting(read.days, 30)
    delivery_dead_letters: int = _setting(read.whole(1, 1_000_000), 10_000)
    geoip_database: Path | None = _setting(read.places, None)
    oidc_issuer: str = _setting(read.issuer, "")
    oidc_client_id: str = _setting(read.secret, "")
    oidc_client_secret: str = _setting(read.secret, "")
    oidc_audience: tuple[str, ...] = _setting(read.listed, ())
    oidc_owner: str = _setting(read.email, "")
    oidc_role_claim: str = _setting(str, "")
    grpc_bind: str = _setting(
        read.or_off(read.grpc_bind, ""), lambda given: _beside(given["bind"])
    )
    access_tests: int = _setting(read.whole(1, 10_000), 1_000)
    peer_processes: int = _setting(read.whole(1, 64), 1)
    grpc_certificate: Path | None = _setting(read.file, None)
    grpc_key: Path | None = _setting(read.file, None)
    peer_url: str = _setting(read.peer_url, "")
    stun_urls: tuple[str, ...] = _setting(read.stuns, ())
    turn_urls: tuple[str, ...] = _setting(read.turns, ())
    turn_secret: str = _setting(read.secret, "")
    relay_urls: tuple[str, ...] = _setting(read.relays, ())
    relay_secret: str = _setting(read.secret, "")
    flow_interval: int | None = _setting(read.or_off(read.whole(1, 3600)), None)

    @property
    def is_for_this_host(self) -> bool:
        """Whether the API is bound to loopback; a unix socket is no such address."""
        host = self.bind.rpartition(":")[0].strip("[]")
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


def _name(one: "Field[Any]") -> str:
    return one.metadata["name"] or one.name.upper()


VARIABLES: Final = frozenset(f"{PREFIX}{_name(one)}" for one in fields(Config))
"""Every variable that is read."""

_NEEDS: Final = (
    ("DATABASE_POOLER_URL", "DATABASE_URL", "postgres"),
    ("DATABASE_REPLICA_URL", "DATABASE_URL", "postgres"),
    ("GRPC_CERTIFICATE", "GRPC_KEY", ""),
    ("GRPC_KEY", "GRPC_CERTIFICATE", ""),
    ("TURN_URLS", "TURN_SECRET", ""),
    ("RELAY_URLS", "RELAY_SECRET", ""),
    ("OIDC_ISSUER", "OIDC_CLIENT_ID", ""),
    *(
        (f"OIDC_{name}", "OIDC_ISSUER", "")
        for name in ("CLIENT_ID", "CLIENT_SECRET", "AUDIENCE", "OWNER", "ROLE_CLAIM")
    ),
)
"""What each needs beside it, and how that has to begin."""


def load(environ: Mapping[str, str] = os.environ) -> Config:
    """Return the configuration. Raises ConfigError naming every fault."""
    values, problems = _read_secret_files(environ)
    given: dict[str, Any] = {}
    for one in fields(Config):
        variable, default = f"{PREFIX}{_name(one)}", one.metadata["default"]
        given[one.name] = default(given) if callable(default) else default
        if variable in values:
            try:
                given[one.name] = one.metadata["parse"](values[variable])
            except ValueError as error:
                problems.append(f"{variable}: {error}")
    problems += [*_unknown(values), *_halves(values)]
    if problems:
        raise ConfigError(problems)
    return Config(**given)


def _unknown(values: Iterable[str]) -> list[str]:
    """Return a sentence for each variable that no setting reads."""
    ours = {name for name in values if name.startswith(PREFIX)}
    return [
        f"{name} is not a setting of this service" for name in sorted(ours - VARIABLES)
    ]


def _halves(values: Mapping[str, str]) -> list[str]:
    """Return a sentence for each setting that needs another one, which is unset or odd."""
    return [
        f"{PREFIX}{name} needs {PREFIX}{other}{' of PostgreSQL' * bool(begin)}"
        for name, other, begin in _NEEDS
        if values.get(f"{PREFIX}{name}")
        and not re.match(begin or ".", values.get(f"{PREFIX}{other}", ""))
    ]
