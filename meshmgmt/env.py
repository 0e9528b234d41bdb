"""Configuration from `SVC_*` environment variables, typed and checked at start.

Every wrong value is reported at once, and names that nobody reads are refused, so a
misspelt variable never silently falls back to a default.
"""

import importlib.util
import ipaddress
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PREFIX: Final = "SVC_"
BASE_DIR: Final = Path(__file__).resolve().parent.parent
SECRETS: Final = ("DATABASE_URL", "SECRET_KEY", "OIDC_CLIENT_SECRET")
LEVEL_NAMES: Final = ("trace", "debug", "info", "warn", "error", "fatal", "panic")
MAX_PORT: Final = 65535
OTEL_PACKAGES: Final = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")
LEVEL_ALIASES: Final = {"warning": "warn", "critical": "fatal"}

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ConfigError(Exception):
    """The environment is unusable; `problems` holds one sentence per fault."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


@dataclass(frozen=True, slots=True)
class Config:
    """Everything the environment decides. Durations are seconds unless named."""

    data_dir: Path
    runtime_dir: Path
    database_url: str
    secret_key: str
    bind: str
    workers: int
    threads: int
    allowed_hosts: tuple[str, ...]
    trusted_proxies: tuple[Network, ...]
    csrf_trusted_origins: tuple[str, ...]
    cors_allowed_origins: tuple[str, ...]
    max_body_bytes: int
    stall_seconds: float
    omitted_fields: str
    api_docs: str
    dns_domain: str
    metrics_port: int | None
    metrics_port_explicit: bool
    metrics_host: str | None
    metrics_dialect: str
    log_level: str
    log_files: tuple[str, ...]
    log_format: str
    access_log: str
    syslog_address: str
    anonymize: bool
    relay_listeners: tuple[str, ...]
    otel_endpoint: str
    drain_seconds: float
    audit_retention_days: int | None
    traffic_retention_days: int | None
    proxy_retention_days: int | None
    geoip_database: Path | None
    oidc_issuer: str
    oidc_client_id: str
    oidc_client_secret: str
    oidc_audience: str
    oidc_role_claim: str


def _one_of(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        value = text.strip().lower()
        if value not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return value

    return parse


def parse_level(text: str) -> str:
    """Return the canonical log level name of `text` (any case, aliases allowed).

    Raises ValueError naming the allowed levels (seed, Operational interfaces).
    """
    value = text.strip().lower()
    value = LEVEL_ALIASES.get(value, value)
    if value not in LEVEL_NAMES:
        raise ValueError(f"{text!r} is not a log level: use {', '.join(LEVEL_NAMES)}")
    return value


def _is_port(text: str) -> bool:
    digits = re.fullmatch(r"[0-9]{1,5}", text.strip())
    return digits is not None and 0 < int(text) <= MAX_PORT


def parse_port(text: str) -> int | None:
    """Return a TCP port, or None for `off`. Raises ValueError."""
    if text.strip().lower() == "off":
        return None
    if not _is_port(text):
        raise ValueError(f"{text!r} is not a port: use 1 to 65535, or off")
    return int(text)


def parse_bind(text: str) -> str:
    """Return `HOST:PORT` or `unix:PATH` unchanged. Raises ValueError."""
    if re.fullmatch(r"unix:.+", text):
        return text
    host, _, port = text.rpartition(":")
    if not host or not _is_port(port):
        raise ValueError(f"{text!r} is not HOST:PORT or unix:PATH")
    return text


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(word, strict=False) for word in _words(text))


def _days(text: str) -> int | None:
    if text.strip().lower() in {"off", ""}:
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise ValueError(f"{text!r} is not a number of days from 1, or off")
    return int(text)


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{text!r} is not a whole number from {low} to {high}")
        return int(text)

    return parse


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:  # noqa: PLR2004 - an hour, in seconds
        raise ValueError(f"{text!r} is not a number of seconds from 0 to 3600")
    return value


def _stall(text: str) -> float:
    value = _seconds(text)
    if value == 0:
        raise ValueError(f"{text!r} is not a number of seconds above 0, up to 3600")
    return value


def _truth(text: str) -> bool:
    value = text.strip().lower()
    if value not in {"true", "false", "1", "0"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return value in {"true", "1"}


def _outputs(text: str) -> tuple[str, ...]:
    words = _words(text)
    if not words:
        raise ValueError(
            f"{text!r} names no output: use console, stdout, syslog, paths"
        )
    return words


def _listeners(text: str) -> tuple[str, ...]:
    words = _words(text)
    for word in words:
        if not _is_address(word, "wss?"):
            raise ValueError(f"{word!r} is not ws://HOST[:PORT] or wss://HOST[:PORT]")
    return words


def _collector(text: str) -> str:
    """Return the base address of an OTLP/HTTP collector, "" for none."""
    if not text:
        return ""
    if not _is_address(text, "https?"):
        raise ValueError(f"{text!r} is not http(s)://HOST[:PORT]")
    if not _has_packages(*OTEL_PACKAGES):
        raise ValueError(
            "tracing needs packages that are not installed: "
            "pip install --require-hashes -r requirements/otel.txt"
        )
    return text


def _is_address(text: str, scheme: str) -> bool:
    """Tell whether `text` is SCHEME://HOST[:PORT][/PATH]; `scheme` is a pattern."""
    match = re.fullmatch(
        rf"{scheme}://(?:[^\s/@?#:\[\]]+|\[[0-9A-Fa-f:.]+\])(?::(\w+))?(/[^\s#]*)?",
        text,
    )
    return match is not None and (match[1] is None or _is_port(match[1]))


def _has_packages(*names: str) -> bool:
    try:
        return all(importlib.util.find_spec(name) for name in names)
    except ModuleNotFoundError:  # a package that holds one of them is missing
        return False


def _places(text: str) -> Path | None:
    """Return the path of a MaxMind database that knows countries, None for none."""
    if not text:
        return None
    import maxminddb  # noqa: PLC0415 - few deployments have one

    try:
        with maxminddb.open_database(text) as database:
            kind = database.metadata().database_type
    except OSError as error:
        raise ValueError(f"cannot read {text!r}: {error.strerror}") from error
    except (maxminddb.InvalidDatabaseError, ValueError, UnicodeError) as error:
        raise ValueError(f"{text!r} is not a MaxMind database file") from error
    if not any(word in kind for word in ("City", "Country", "Enterprise")):
        raise ValueError(f"{text!r} holds {kind!r}, not countries or cities")
    return Path(text)


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
            values[f"{PREFIX}{name}"] = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            problems.append(f"{PREFIX}{name}_FILE: cannot read {path!r}: {error}")
    return values, problems


class _Reader:
    """Reads one variable after the other and keeps every fault."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = {k: v for k, v in values.items() if k.startswith(PREFIX)}
        self.known: set[str] = set()
        self.problems: list[str] = []

    def get(self, name: str, parse: Callable[[str], Any], default: Any) -> Any:
        """Return the parsed value of `SVC_<name>`, or `default` when unset."""
        self.known.add(f"{PREFIX}{name}")
        raw = self.values.get(f"{PREFIX}{name}")
        if raw is None:
            return default
        try:
            return parse(raw)
        except ValueError as error:
            self.problems.append(f"{PREFIX}{name}: {error}")
            return default

    def unknown(self) -> list[str]:
        """Return a sentence for each variable that no setting reads."""
        return [
            f"{name} is not a setting of this service"
            for name in sorted(set(self.values) - self.known)
        ]


def load(environ: Mapping[str, str] = os.environ) -> Config:
    """Return the configuration. Raises ConfigError naming every fault."""
    values, problems = _read_secret_files(environ)
    read = _Reader(values)
    data_dir = read.get("DATA_DIR", Path, BASE_DIR / "var")
    port = read.get("METRICS_PORT", parse_port, 9090)
    config = Config(
        data_dir=data_dir,
        runtime_dir=read.get("RUNTIME_DIR", Path, data_dir / "run"),
        database_url=read.get("DATABASE_URL", str, ""),
        secret_key=read.get("SECRET_KEY", str, ""),
        bind=read.get("BIND", parse_bind, "127.0.0.1:8000"),
        workers=read.get("WORKERS", _whole(1, 512), 2),
        threads=read.get("THREADS", _whole(1, 512), 8),
        allowed_hosts=read.get("ALLOWED_HOSTS", _words, ()),
        trusted_proxies=read.get("TRUSTED_PROXIES", _networks, ()),
        csrf_trusted_origins=read.get("CSRF_TRUSTED_ORIGINS", _words, ()),
        cors_allowed_origins=read.get("CORS_ALLOWED_ORIGINS", _words, ()),
        max_body_bytes=read.get("MAX_BODY_BYTES", _whole(1024, 2**31), 2**20),
        stall_seconds=read.get("STALL_SECONDS", _stall, 20.0),
        omitted_fields=read.get("OMITTED_FIELDS", _one_of("refuse", "empty"), "refuse"),
        api_docs=read.get("API_DOCS", _one_of("public", "token", "off"), "public"),
        dns_domain=read.get("DNS_DOMAIN", str, "mesh.internal"),
        metrics_port=port,
        metrics_port_explicit=f"{PREFIX}METRICS_PORT" in read.values,
        metrics_host=read.get("METRICS_HOST", str, None),
        metrics_dialect=read.get("METRICS_DIALECT", _one_of("seed", "otel"), "seed"),
        log_level=read.get("LOG_LEVEL", parse_level, "info"),
        log_files=read.get("LOG_FILE", _outputs, ("console",)),
        log_format=read.get("LOG_FORMAT", _one_of("json", "text"), "json"),
        access_log=read.get("ACCESS_LOG", _one_of("all", "errors"), "all"),
        syslog_address=read.get("SYSLOG_ADDRESS", str, "/dev/log"),
        anonymize=read.get("ANONYMIZE", _truth, False),
        relay_listeners=read.get("RELAY_LISTENERS", _listeners, ()),
        otel_endpoint=read.get("OTEL_ENDPOINT", _collector, ""),
        drain_seconds=read.get("DRAIN_SECONDS", _seconds, 5.0),
        audit_retention_days=read.get("AUDIT_RETENTION_DAYS", _days, None),
        traffic_retention_days=read.get("TRAFFIC_RETENTION_DAYS", _days, 30),
        proxy_retention_days=read.get("PROXY_RETENTION_DAYS", _days, 7),
        geoip_database=read.get("GEOIP_DATABASE", _places, None),
        oidc_issuer=read.get("OIDC_ISSUER", str, ""),
        oidc_client_id=read.get("OIDC_CLIENT_ID", str, ""),
        oidc_client_secret=read.get("OIDC_CLIENT_SECRET", str, ""),
        oidc_audience=read.get("OIDC_AUDIENCE", str, ""),
        oidc_role_claim=read.get("OIDC_ROLE_CLAIM", str, ""),
    )
    problems += read.problems + read.unknown()
    if problems:
        raise ConfigError(problems)
    return config
